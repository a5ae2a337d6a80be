/** A run of tokens that both have, or one alone. */
export interface Change<T> {
  value: T;
  added: boolean;
  removed: boolean;
}
/** What turns one list into the other by the fewest changes (Myers); undefined: it would take longer than `timeout` ms. */
export function diffArrays<T>(a: T[], b: T[], options: { timeout: number }): Change<T[]>[] | undefined;
/** The same of texts, by words, spaces and signs. */
export function diffWordsWithSpace(a: string, b: string, options: { timeout: number }): Change<string>[] | undefined;
