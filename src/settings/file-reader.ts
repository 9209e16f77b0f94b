import { X509Certificate } from 'node:crypto'
import { access, constants, readFile, stat } from 'node:fs/promises'
import { dirname, isAbsolute, resolve } from 'node:path'

/** Reads files that keys of the configuration name. A file that cannot be read is one more problem. */
export class FileReader {
  readonly #folder: string
  readonly #problems: string[]

  constructor(folder: string, problems: string[]) {
    this.#folder = folder
    this.#problems = problems
  }

  /** The text of a file, or undefined when none is named or it cannot be read. */
  async text(key: string, path: string | undefined): Promise<string | undefined> {
    if (path === undefined) return undefined
    return this.#attempt(key, path, full => readFile(full, 'utf8'))
  }

  /** As `text`, without the newline that editors leave at the end. */
  async secret(key: string, path: string | undefined): Promise<string | undefined> {
    const text = (await this.text(key, path))?.replace(/\r?\n$/, '')
    if (text === '') this.#problems.push(`${key}: the file is empty`)
    return text
  }

  /** PEM of certificates of authorities, of which at least the first can be parsed. */
  async authorities(key: string, path: string | undefined): Promise<string | undefined> {
    const text = await this.text(key, path)
    if (text === undefined) return undefined
    try {
      void new X509Certificate(text)
    } catch {
      this.#problems.push(`${key}: the file has no certificate in PEM`)
    }
    return text
  }

  path(path: string): string {
    return resolve(this.#folder, path)
  }

  /** The full path of a file that is read later, by others. */
  async present(key: string, path: string | undefined): Promise<string | undefined> {
    if (path === undefined) return undefined
    return this.#attempt(key, path, full => access(full, constants.R_OK).then(() => full))
  }

  /** The full path of a file that is appended to later. It may be missing if its folder exists. */
  async writable(key: string, path: string | undefined): Promise<string | undefined> {
    if (path === undefined) return undefined
    const full = resolve(this.#folder, path)
    const found = await stat(full).catch(() => undefined)
    // A pipe without a reader would block the whole process.
    if (found && !found.isFile()) this.#problems.push(`${key}: is not a file`)
    await access(found ? full : dirname(full), constants.W_OK).catch(error => {
      this.#problems.push(`${key}: the file ${full} cannot be written (${error.code})`)
    })
    return full
  }

  async #attempt(key: string, path: string, read: (full: string) => Promise<string>): Promise<string | undefined> {
    try {
      return await read(resolve(this.#folder, path))
    } catch (error) {
      const where = await showable(path)
      this.#problems.push(`${key}: the file ${where}cannot be read (${(error as NodeJS.ErrnoException).code})`)
      return undefined
    }
  }
}

/** A path for messages, only if its folder exists: a secret may have been put in place of a path. */
async function showable(path: string): Promise<string> {
  const folder = dirname(path)
  if (!isAbsolute(path) || folder === '/') return ''
  const found = await stat(folder).catch(() => undefined)
  return found?.isDirectory() ? `${path} ` : ''
}
