import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { attempt, findProgram, run } from '../process/command.ts'
import { withLock } from '../process/lock.ts'
import type { Progress } from '../process/progress.ts'

/** A package that Debian provides, and a check whether it is installed. */
export interface DebianPart {
  name: string
  isPresent(): boolean | Promise<boolean>
}

/** A package that is recognized by one of its programs. */
export function debianProgram(name: string, program = name): DebianPart {
  return { name, isPresent: () => findProgram(program) !== null }
}

/** Name of the package and of its program. */
export const browserName = 'chromium-headless-shell'

/** A package that is recognized by one of its files. */
export function debianFile(name: string, file: string): DebianPart {
  return { name, isPresent: () => existsSync(file) }
}

/** The parts that are not installed. */
export async function missingOf(parts: DebianPart[]): Promise<DebianPart[]> {
  const answers = await Promise.all(parts.map(part => part.isPresent()))
  return parts.filter((_, index) => !answers[index])
}

/** Debian runs this file to ask whether an installation may start its services; 101 means no. */
const policyFile = '/usr/sbin/policy-rc.d'
const policyText = '#!/bin/sh\n# Set-up of Skylab: installed services are not started.\nexit 101\n'

/** Packages with services that Debian would start; each run starts its own instead. */
const services = [
  'containerd',
  'docker',
  'docker-registry',
  'haproxy',
  'nginx',
  'podman',
  'postgresql',
  'prometheus',
  'redis-server',
  'openssh-server',
]

/** Services with another name than their package. */
const serviceNames: Readonly<Record<string, string>> = { 'openssh-server': 'ssh' }

/** Installs packages as root. Their services start neither now nor, under systemd, at the next boot. */
export function installPackages(parts: DebianPart[], progress: Progress, signal?: AbortSignal): Promise<void> {
  const install = async () => {
    // Another run may have installed them while this one waited.
    const names = (await missingOf(parts)).map(part => part.name)
    if (names.length === 0) return
    await progress.part(`Debian packages: ${names.join(' ')}`, () => aptInstall(names, signal))
  }
  return withLock('debian packages', install, {
    signal,
    onWait: () => progress.say('another run installs Debian packages: waiting'),
  })
}

async function aptInstall(names: string[], signal?: AbortSignal): Promise<void> {
  const policyIsOurs = !existsSync(policyFile) || readFileSync(policyFile, 'utf8') === policyText
  if (policyIsOurs) writeFileSync(policyFile, policyText, { mode: 0o755 })
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const patience = ['-q', '-o', 'DPkg::Lock::Timeout=600']
  try {
    await run('apt-get', [...patience, 'update'], { env, signal })
    await run('apt-get', [...patience, 'install', '-y', '--no-install-recommends', ...names], { env, signal })
    if (existsSync('/run/systemd/system')) {
      for (const service of services.filter(name => names.includes(name))) {
        await attempt('systemctl', ['disable', '--quiet', serviceNames[service] ?? service])
      }
    }
  } finally {
    if (policyIsOurs) rmSync(policyFile, { force: true })
  }
}
