import type { Http } from "./http.ts";
import type { Abortable } from "./types.ts";

export interface PageOptions extends Abortable {
  /** Entries of one call, 1 to 100. */
  pageSize?: number | undefined;
}

/** The entries of a list, one call for each page of them. @param member of the answer that has them */
export async function* pages<T>(
  http: Http,
  path: string,
  member: string,
  { pageSize = 100, query, signal }: PageOptions & { query?: Record<string, string | undefined> },
): AsyncGenerator<T, void> {
  let cursor: string | undefined;
  do {
    const call = { method: "GET", path, query: { ...query, limit: pageSize, cursor }, signal };
    const page = await http.json<Record<string, unknown>>(call);
    yield* page[member] as T[];
    cursor = (page.cursor as string | null) ?? undefined;
  } while (cursor !== undefined);
}
