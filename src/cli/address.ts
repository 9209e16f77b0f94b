/** The address of a running installation, as commands that speak to one are given it. */
import { ConfigError } from '../config/problems.ts'

/** Has the address where the option `--url` is missing. */
export const urlVariable = 'SKYLAB_URL'

/** @param command what follows `skylab` on the command line */
export const wrong = (command: string, problem: string): ConfigError => new ConfigError(`skylab ${command}`, [problem])

/** @returns the address without a slash at its end. @throws {ConfigError} */
export function urlOf(command: string, text: string | undefined): string {
  if (!text) throw wrong(command, `--url is missing, and ${urlVariable} too`)
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password || url.search || url.hash)
    throw wrong(command, '--url is no address such as https://skylab.example.org')
  return url.href.replace(/\/+$/, '')
}
