#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

/// Every sentence that a caller can be told, in one place. A name in angle brackets stands for what is put
/// in. Where zod 4 has the rule, the wording is zod's, since web apps show it already.
namespace roombox::messages {

// Errors as a whole.
inline constexpr std::string_view kInvalidRequest = "invalid request";
inline constexpr std::string_view kRoomRequired = "not found - room ID is required";
inline constexpr std::string_view kSandboxRequired = "not found - sandbox ID is required";
inline constexpr std::string_view kNoSandbox = "not found - there is no sandbox <id>";
inline constexpr std::string_view kNoExecution = "not found - the room has no execution <id>";
inline constexpr std::string_view kNoRoom = "not found - there is no room <id>";
inline constexpr std::string_view kNoPort =
    "not found - a port is a whole number from 1 to <limit> without leading zeros, and not <port>, the "
    "sandbox's own";
inline constexpr std::string_view kNotFound =
    "not found - no call has this path; /docs has all of them, such as <call>";
inline constexpr std::string_view kMethodNotAllowed = "method not allowed - only <methods> supported";
inline constexpr std::string_view kNotJson = "unsupported media type - send the body as application/json";
inline constexpr std::string_view kEncoded =
    "unsupported media type - send the body as it is, without a Content-Encoding";
inline constexpr std::string_view kTooLarge = "payload too large - a body has at most <limit> bytes";
inline constexpr std::string_view kUrlTooLong =
    "URL too long - it has at most <limit> bytes; send what is long in the body";
inline constexpr std::string_view kHeadersTooLarge =
    "headers too large - all together have at most <limit> bytes; send fewer or shorter ones, such as "
    "cookies";
inline constexpr std::string_view kRelayedTooLarge =
    "headers too large - URL and headers of a call to a port have at most <limit> bytes together; send fewer "
    "or shorter ones, such as cookies";

// What became of a sandbox.
inline constexpr std::string_view kStartFailed =
    "sandbox execution failed: the sandbox could not be started; the command did not run, try again";
inline constexpr std::string_view kStartTimeout =
    "the sandbox is still starting; the command did not run, try again in a few seconds";
inline constexpr std::string_view kAtCapacity =
    "no sandbox is free at the moment; the command did not run, try again later";
inline constexpr std::string_view kHostsInvalid =
    "sandbox execution failed: ALLOWED_HOSTS of this deployment has an entry that is no host; the command "
    "did "
    "not run. Have its operator correct it in wrangler.toml: names such as registry.example, "
    "*.registry.example or registry.example:8443, with blanks between them; the log says which entry it is";
inline constexpr std::string_view kLost =
    "sandbox execution failed: the sandbox stopped while the command ran; what it did is unknown, its files "
    "may be lost, the next call starts the sandbox again";
inline constexpr std::string_view kGone =
    "the room was deleted while the command ran; the next call starts a new, empty sandbox";
inline constexpr std::string_view kRestoreFailed =
    "sandbox execution failed: the sandbox's files could not be restored from its snapshot; the command "
    "did not run, try again, or delete the room to begin anew with the image";
inline constexpr std::string_view kSleepFailed =
    "the room could not be saved and stays awake; no file is lost, try again later";
inline constexpr std::string_view kSlept =
    "the room was put to sleep before the call was done; what was sent may have been taken in part, the next "
    "call wakes the room";
inline constexpr std::string_view kCrashed = "internal error - the request was not carried out, try again";

// The same, of a call that is no command.
inline constexpr std::string_view kCallStartFailed = "the sandbox could not be started; <undone>, try again";
inline constexpr std::string_view kCallStartTimeout =
    "the sandbox is still starting; <undone>, try again in a few seconds";
inline constexpr std::string_view kCallAtCapacity =
    "no sandbox is free at the moment; <undone>, try again later";
inline constexpr std::string_view kCallRestoreFailed =
    "the sandbox's files could not be restored from its snapshot; <undone>, try again, or delete the room to "
    "begin anew with the image";
inline constexpr std::string_view kCallHostsInvalid =
    "ALLOWED_HOSTS of this deployment has an entry that is no host; <undone>. Have its operator correct it "
    "in "
    "wrangler.toml: names such as registry.example, *.registry.example or registry.example:8443, with blanks "
    "between them; the log says which entry it is";
inline constexpr std::string_view kCallLost =
    "the sandbox stopped before the call was done; what it did is unknown, files may be lost, the next call "
    "starts the sandbox again";
inline constexpr std::string_view kCallGone =
    "the room was deleted before the call was done; the next call starts a new, empty sandbox";

inline constexpr std::string_view kNoFileTouched = "nothing was read or changed";
inline constexpr std::string_view kNotRelayed = "nothing was passed on";
inline constexpr std::string_view kNothingDone = "the call was not carried out";

// What keeps a sandbox's metrics from being told.
inline constexpr std::string_view kNoMetrics =
    "the room is not awake; metrics are of a sandbox that runs, and this call starts none";
inline constexpr std::string_view kMetricsFailed =
    "bad gateway - the sandbox runs but its agent gave no metrics; try again";

// What became of a call on an execution.
inline constexpr std::string_view kEnded = "the execution has already ended; its record is unchanged";
inline constexpr std::string_view kSaveFailed =
    "the platform took no snapshot; the room stays awake, and it is tried again";
inline constexpr std::string_view kSaveTimeout =
    "the snapshot took too long; the room stays awake, and it is tried again";
inline constexpr std::string_view kSaveUnsupported =
    "this platform takes no snapshots: the room stays awake, and its files end with its container";

inline constexpr std::string_view kEarlierLife =
    "the execution ran in an earlier life of the sandbox and is out of reach; its record can still be read";
inline constexpr std::string_view kPositionLost =
    "there is no event of this id, or what comes after it is no longer kept; read the events from the first, "
    "or "
    "the record";
inline constexpr std::string_view kTooManyCalls =
    "too many calls within a minute; nothing was done, try again later";
inline constexpr std::string_view kTooManyExecutions =
    "too many commands run in the room; this one did not, try again when one has ended";
inline constexpr std::string_view kTooManyTickets =
    "too many tickets of the room wait to be used; none was made, use those or try again when they have "
    "expired";
inline constexpr std::string_view kTooManyPresent =
    "as many are present in the room as may be; try again when one has left";
inline constexpr std::string_view kTooManyRooms =
    "the key of this call has <limit> rooms, as many as it may (MAX_ROOMS); no room was made and nothing was "
    "done, delete rooms and try again";
inline constexpr std::string_view kKeySpent =
    "the Idempotency-Key was used within 24 hours and the record of its execution is no longer kept; nothing "
    "ran, use a new key";
inline constexpr std::string_view kKeyReused =
    "the Idempotency-Key was used for another body within 24 hours; nothing ran, use a new key";

// Who may do what.
inline constexpr std::string_view kUnauthorized = "unauthorized";
inline constexpr std::string_view kForbiddenCall = "forbidden";
inline constexpr std::string_view kCredentialMissing =
    "Missing: send an API key or a room token, as \"Authorization: Bearer …\" or \"X-API-Key: …\"";
inline constexpr std::string_view kCredentialInvalid =
    "No API key is this one, and it is no room token that a known key has signed";
inline constexpr std::string_view kCredentialExpired =
    "The room token or ticket has expired: ask for a new one";
inline constexpr std::string_view kTokenScopes =
    "The token has a scope that there is none of: it may have some of exec, attach, files, ports, read, "
    "delete";
inline constexpr std::string_view kKeyUnreadable =
    "no room token can be verified - the secret <name> is neither a public key as JWK or PEM nor a text of "
    "32 "
    "bytes or more: set it anew with \"npx wrangler secret put\"";
inline constexpr std::string_view kCredentialsUnconfigured =
    "No credentials are configured, so nobody is let in: set an API key with \"npx wrangler secret put "
    "API_KEY\"";
inline constexpr std::string_view kNoTokenKey =
    "no key to sign room tokens with is configured: set a secret with \"npx wrangler secret put TOKEN_KEY\"";
inline constexpr std::string_view kTokenNotForAll = "Only an API key may make this call";
inline constexpr std::string_view kTokenOtherRoom = "The token is for another room";
inline constexpr std::string_view kTokenScope = "The call needs the scope <scope>; the token has: <scopes>";
inline constexpr std::string_view kOpenHost =
    "With AUTH_MODE=open only localhost is served, not <host>: a page could otherwise reach it by a name of "
    "its own";
inline constexpr std::string_view kOrigin = "Pages of <origin> may not: ALLOWED_ORIGINS does not have it";

// What an agent says to what it was asked.
inline constexpr std::string_view kNoAgentCall = "not found - the agent has no such call";
inline constexpr std::string_view kSameId = "an execution of this ID is there already";
inline constexpr std::string_view kRecordsFull =
    "too much output waits to be stored; the command did not run, try again in a few seconds";
inline constexpr std::string_view kStdinClosed = "the stdin of the execution is closed";
inline constexpr std::string_view kStdinFull =
    "the execution has not read its input yet; nothing was written, try again when it has";

inline constexpr std::string_view kShellsFull =
    "the sandbox has <limit> persistent shells already; the command did not run, use one of them or end one "
    "with "
    "exit";
inline constexpr std::string_view kNoBash =
    "sandbox execution failed: persistent shells need bash, 4.4 or later, which the sandbox's image lacks";
inline constexpr std::string_view kShellStdinHeld =
    "a process that an earlier call left behind still has the shell's stdin; the command did not run, end "
    "that "
    "process first";

inline constexpr std::string_view kNoTerminal = "the execution does not run in a terminal";
inline constexpr std::string_view kAttachedBehind =
    "the client was too slow: some output is no longer kept for it";
inline constexpr std::string_view kAttachedChannel = "expected a binary message that begins with 0 (stdin)";
inline constexpr std::string_view kUpgradeRequired = "upgrade required - this call is for a WebSocket";

// Files, as the agent finds them.
inline constexpr std::string_view kNoFile = "not found - there is no <path>";
inline constexpr std::string_view kNoDirectory = "not found - there is no directory <path> to put a file in";
inline constexpr std::string_view kNotPermitted =
    "forbidden - the user of the sandbox has no right to <path>";
inline constexpr std::string_view kIsDirectory = "<path> is a directory";
inline constexpr std::string_view kNotDirectory =
    "<path> is no directory, nor can it lie in one that is none";
inline constexpr std::string_view kNotEmpty =
    "<path> is a directory that is not empty; recursive=true removes it";
inline constexpr std::string_view kTooManyLinks =
    "<path> leads through too many symbolic links, or through one of /proc";
inline constexpr std::string_view kSpecialFile = "<path> is a pipe, a socket or a device";
inline constexpr std::string_view kBusy = "<path> is in use by the sandbox itself";
inline constexpr std::string_view kTooDeepTree =
    "<path> has directories nested too deep to remove in one call; remove it by a command";
inline constexpr std::string_view kTooManyEntries =
    "<path> has too many entries to list in one answer; list it by a command";
inline constexpr std::string_view kNoSpace = "payload too large - no space is left in the sandbox for <path>";
inline constexpr std::string_view kFileFailed = "the sandbox could not do it to <path>: <reason>";
inline constexpr std::string_view kChanged =
    "precondition failed - <path> is not as If-Match or If-None-Match has it; nothing was changed";
inline constexpr std::string_view kBodyCut = "The body was cut off; nothing was changed";
inline constexpr std::string_view kRange = "range not satisfiable - <path> has <size> bytes";

// Servers in the sandbox, as the agent finds them.
inline constexpr std::string_view kNothingListens =
    "bad gateway - nothing listens on port <port> of the sandbox; start a server "
    "there, or give wait_ms to wait for one that starts";
inline constexpr std::string_view kServerLeft =
    "bad gateway - the server on port <port> closed the connection without an answer";
inline constexpr std::string_view kServerNotHttp =
    "bad gateway - the server on port <port> answered with what is no HTTP/1.1, or has too large a header";

// The path, the query and headers.
inline constexpr std::string_view kPathSlash = "A name in a path cannot contain an encoded slash";
inline constexpr std::string_view kPathNul = "A path cannot contain a NUL character";
inline constexpr std::string_view kPathEncoding = "Invalid path: a % begins no two hexadecimal digits";
inline constexpr std::string_view kPathNotAbsolute = "A path must be absolute";
inline constexpr std::string_view kNameTooLong = "A name in a path is too long";
inline constexpr std::string_view kDirectoryBody =
    "A directory has no bytes: with mkdir=true the body must be empty";
inline constexpr std::string_view kRoomId =
    "A room ID has 1 to 64 characters of A-Z a-z 0-9 . _ - and begins and ends with a letter or digit";

inline constexpr std::string_view kSandboxId =
    "A sandbox ID has 1 to 64 characters of A-Z a-z 0-9 . _ - and begins and ends with a letter or digit";
inline constexpr std::string_view kLimit = "Invalid limit: expected a whole number from 1 to <limit>";
inline constexpr std::string_view kWait = "Invalid wait: expected a whole number from 0 to <limit>";
inline constexpr std::string_view kUrl =
    "Invalid URL: expected visible ASCII characters, others percent-encoded";
inline constexpr std::string_view kCursor = "Invalid cursor: expected the cursor of an earlier answer";
inline constexpr std::string_view kStatus = "Invalid option: expected one of <names>";
inline constexpr std::string_view kTrueOrFalse = "Invalid option: expected one of \"true\"|\"false\"";
inline constexpr std::string_view kPresenceName =
    "A name has 1 to <limit> bytes of UTF-8, and no control characters";
inline constexpr std::string_view kIdempotencyKey =
    "An Idempotency-Key has 1 to 255 visible ASCII characters";
inline constexpr std::string_view kAfter =
    "Invalid sequence: expected the id of an event of the execution, a whole number";
inline constexpr std::string_view kLastEventId = "A Last-Event-ID is the id of an event, a whole number";

// A body as a whole.
inline constexpr std::string_view kInvalidJson = "Invalid JSON at position <byte>: <reason>";
inline constexpr std::string_view kTooDeep = "Invalid JSON: nested more than <limit> levels deep";
inline constexpr std::string_view kEmptyBody = "the body is empty";
inline constexpr std::string_view kUnexpectedEnd = "the text ends too early";
inline constexpr std::string_view kUnexpectedByte = "unexpected byte 0x<high><low>";
inline constexpr std::string_view kUnexpectedCharacter = "unexpected '<character>'";
inline constexpr std::string_view kUnexpectedString = "unexpected string";
inline constexpr std::string_view kOpenString = "a string is not closed";
inline constexpr std::string_view kControlCharacter = "a control character in a string must be escaped";
inline constexpr std::string_view kBadEscape = "a string has an escape that JSON does not know";
inline constexpr std::string_view kBadHex = "\\u needs four hexadecimal digits";
inline constexpr std::string_view kLoneSurrogate = "a string has half of a surrogate pair";
inline constexpr std::string_view kBadUtf8 = "a string is not valid UTF-8";
inline constexpr std::string_view kHugeNumber = "a number is too large";

// Fields.
inline constexpr std::string_view kWrongType = "Invalid input: expected <type>, received <type>";
inline constexpr std::string_view kUnrecognizedKey = "Unrecognized key: \"<name>\"<hint>";
inline constexpr std::string_view kDidYouMean = ". Did you mean \"<name>\"?";
inline constexpr std::string_view kDuplicateKey = "Duplicate key: \"<name>\"";
inline constexpr std::string_view kStringTooBig = "Too big: expected string to have <=<limit> bytes";
inline constexpr std::string_view kNumberTooSmall = "Too small: expected number to be >=<limit>";
inline constexpr std::string_view kNumberTooBig = "Too big: expected number to be <=<limit>";
inline constexpr std::string_view kCommandEmpty = "Command cannot be empty";
inline constexpr std::string_view kCommandNul = "Command cannot contain a NUL character";
inline constexpr std::string_view kCwdNotAbsolute = "Working directory must be an absolute path";
inline constexpr std::string_view kCwdNul = "Working directory cannot contain a NUL character";
inline constexpr std::string_view kEncoding = "Invalid option: expected one of \"utf8\"|\"base64\"";
inline constexpr std::string_view kNotTogether = "Cannot be combined with \"<field>\"";
inline constexpr std::string_view kShellName = "A shell's name has 1 to 32 characters of A-Z a-z 0-9 _ -";
inline constexpr std::string_view kCwdInShell =
    "Cannot be combined with \"shell\": the shell keeps its directory, use cd in it";
inline constexpr std::string_view kEnvInShell =
    "Cannot be combined with \"shell\": the shell keeps its variables, use export in it";
inline constexpr std::string_view kOnlyDetached = "Only with \"detach\" or \"pty\"";
inline constexpr std::string_view kOnlyStarted =
    "Only with a command that outlives its call: POST …/exec or …/exec/run-async";
inline constexpr std::string_view kArgumentNul =
    "An argument cannot contain a NUL character (member \"<place>\")";
inline constexpr std::string_view kArgumentTooBig =
    "Too big: expected string to have <=<limit> bytes (member \"<place>\")";
inline constexpr std::string_view kArgumentsTooBig =
    "Too big: expected all strings to have <=<limit> bytes together";
inline constexpr std::string_view kMemberWrongType =
    "Invalid input: expected <type>, received <type> (member \"<name>\")";
inline constexpr std::string_view kSignal =
    "Unknown signal: expected a name such as \"SIGTERM\" or a number from 1 to 64";
inline constexpr std::string_view kOwnPort = "Port <port> is the sandbox's own";
inline constexpr std::string_view kScope =
    "Invalid option: expected some of \"exec\"|\"attach\"|\"files\"|\"ports\"|\"read\"|\"delete\"";
inline constexpr std::string_view kTemplate = "Invalid option: expected one of \"base\"";
inline constexpr std::string_view kControlType =
    "Invalid option: expected one of \"stdin-eof\"|\"resize\"|\"signal\"";
inline constexpr std::string_view kEnvName =
    "Invalid name of a variable: expected [A-Za-z_][A-Za-z0-9_]*, received \"<name>\"";
inline constexpr std::string_view kEnvNul = "Variable \"<name>\" cannot contain a NUL character";
inline constexpr std::string_view kEnvWrongType =
    "Invalid input: expected string, received <type> (variable \"<name>\")";
inline constexpr std::string_view kEnvEntryTooBig =
    "Too big: expected a name and its value to have <=<limit> bytes together (variable \"<name>\")";
inline constexpr std::string_view kEnvCountTooBig = "Too big: expected record to have <=<limit> keys";
inline constexpr std::string_view kEnvBytesTooBig = "Too big: expected record to have <=<limit> bytes";

/// A message with its names in angle brackets replaced, in order, by `values`.
std::string fill(std::string_view message, std::initializer_list<std::string_view> values);

}  // namespace roombox::messages
