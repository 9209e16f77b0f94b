/** Debian's Chromium without a window: the very engine, for a third of the processor time of the one that has windows. */
import { type Browser, chromium } from 'playwright-core'
import { findProgram } from '../process/command.ts'
import { browserName } from './debian.ts'

/** @throws where it is not installed: what needs one is never left out */
export function launchBrowser(): Promise<Browser> {
  const executablePath = findProgram(browserName)
  if (executablePath === null) throw new Error(`there is no ${browserName}: npm test installs it, as root`)
  return chromium.launch({ executablePath, args: ['--no-sandbox'] })
}
