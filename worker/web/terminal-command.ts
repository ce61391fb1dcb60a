/** What runs in the terminal that all pages of a room share: the newest execution of exactly this. Its comment tells it from others. */
export const TERMINAL_COMMAND = 'exec "$SHELL" # the terminal of the room page';
