import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { attempt, findProgram, run } from '../process/command.ts'
import { withLock } from '../process/lock.ts'
import type { Progress } from '../process/progress.ts'

/** What Debian has to provide: a package, and how to see that it is there. */
export interface DebianPart {
  name: string
  isPresent(): boolean | Promise<boolean>
}

/** A package that is known by a program it brings. */
export function debianProgram(name: string, program = name): DebianPart {
  return { name, isPresent: () => findProgram(program) !== null }
}

/** Its package, and its program. */
export const browserName = 'chromium-headless-shell'

/** A package that is known by a file it brings. */
export function debianFile(name: string, file: string): DebianPart {
  return { name, isPresent: () => existsSync(file) }
}

/** The parts that are not there. */
export async function missingOf(parts: DebianPart[]): Promise<DebianPart[]> {
  const answers = await Promise.all(parts.map(part => part.isPresent()))
  return parts.filter((_, index) => !answers[index])
}

/** Debian asks this file whether a service may be started by its installation; 101 says no. */
const policyFile = '/usr/sbin/policy-rc.d'
const policyText = '#!/bin/sh\n# Of a set-up of Skylab: services that it installs are not started.\nexit 101\n'

/** Packages whose services would be started; each run starts its own instead. */
const services = ['containerd', 'docker', 'docker-registry', 'haproxy', 'nginx', 'prometheus', 'redis-server']

/** Installs packages as root. Their services are neither started now nor, under systemd, at the next boot. */
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
        await attempt('systemctl', ['disable', '--quiet', service])
      }
    }
  } finally {
    if (policyIsOurs) rmSync(policyFile, { force: true })
  }
}
