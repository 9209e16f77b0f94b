/** Lists that EC2 gives in pages. */
import { Unanswered } from '../errors.ts'

export interface Page<T> {
  readonly items: readonly T[]
  readonly next: string | undefined
}

/** Far more than an account may have. */
const mostPages = 1_000

/**
 * All items. Half a list would look like machines that are gone, so an error of one page is an error of all.
 * @throws Unanswered when the pages do not end
 */
export async function pagesOf<T>(read: (token: string | undefined) => Promise<Page<T>>): Promise<readonly T[]> {
  const all: T[] = []
  let token: string | undefined
  for (let count = 0; count < mostPages; count++) {
    const { items, next } = await read(token)
    all.push(...items)
    if (!next) return all
    token = next
  }
  throw new Unanswered('EC2 answers with a list that does not end')
}
