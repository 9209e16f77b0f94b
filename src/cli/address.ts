/** The address of a running installation, as commands that speak to one are given it. */
import { mayGetTokens } from '../base/loopback.ts'
import { ConfigError } from '../config/problems.ts'

/** Has the address where the option `--url` is missing. */
export const urlVariable = 'SKYLAB_URL'

/** @param command what follows `skylab` on the command line */
export const wrong = (command: string, problem: string): ConfigError => new ConfigError(`skylab ${command}`, [problem])

/** The token is sent there. @returns the address without a slash at its end. @throws {ConfigError} */
export function urlOf(command: string, text: string | undefined): string {
  if (!text) throw wrong(command, `--url is missing, and ${urlVariable} too`)
  if (!mayGetTokens(text))
    throw wrong(command, '--url must be an address such as https://skylab.example.org, or http on this machine')
  return new URL(text).href.replace(/\/+$/, '')
}
