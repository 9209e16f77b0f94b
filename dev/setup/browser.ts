/** Debian's Chromium without windows: the same engine, for a third of the processor time. */
import { type Browser, chromium } from 'playwright-core'
import { findProgram } from '../process/command.ts'
import { browserName } from './debian.ts'

/** @throws when it is not installed: a test that needs it is never skipped */
export function launchBrowser(...more: readonly string[]): Promise<Browser> {
  const executablePath = findProgram(browserName)
  if (executablePath === null) throw new Error(`there is no ${browserName}: npm test installs it, as root`)
  return chromium.launch({ executablePath, args: ['--no-sandbox', ...more] })
}
