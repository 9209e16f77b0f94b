#!/usr/bin/env node
// Runs a TypeScript program of this checkout with the Node that the checkout brings along:
//
//   node scripts/run.mjs FILE.ts [ARGUMENT…]
//
// This file alone must run under the machine's own Node, 18 or later; all else may rely on Node 24.
// It installs the npm packages where they are missing or not those of package-lock.json. What it has
// to say goes to stderr: stdout belongs to the program.
import { spawn } from 'node:child_process'
import { existsSync, linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { constants, homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const installLock = join(root, '.artefacts', 'install.lock')
const stopSignals = ['SIGINT', 'SIGTERM', 'SIGHUP']

/** Where dev/process/progress.ts remembers how long things took. */
const durationsFile = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'skylab', 'durations.json')
const partName = 'npm packages'

// As the lockfile says, and without touching it. `npm ci` would do the same, but it refuses a lockfile without the packages
// of other systems; some registries lack those of Biome, and nobody here asks for them. Warnings are about the machine's Node, which runs only this file.
const installCommand = ['install', '--no-save', '--no-progress', '--no-audit', '--no-fund', '--loglevel=error']

const say = text => process.stderr.write(`${text}\n`)
const sleep = ms => new Promise(resolve => setTimeout(resolve, ms))

/** The JSON in a file, null where there is no such file. */
function readJson(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return null
  }
}

/** Whether node_modules holds what package-lock.json asks for, by npm's own list of what it installed. */
export function isInstalled(folder) {
  const wanted = readJson(join(folder, 'package-lock.json'))?.packages ?? {}
  const present = readJson(join(folder, 'node_modules', '.package-lock.json'))?.packages
  if (!present || !existsSync(join(folder, 'node_modules', '.bin', 'node'))) return false
  const differs = path =>
    present[path]?.version !== wanted[path]?.version || present[path]?.integrity !== wanted[path]?.integrity
  const absentByChoice = path =>
    !present[path] && (wanted[path].optional || wanted[path].devOptional || wanted[path].link)
  return (
    Object.keys(wanted).every(path => path === '' || absentByChoice(path) || !differs(path)) &&
    Object.keys(present).every(path => !differs(path))
  )
}

/** When a process began, in ticks since the boot: with the pid, its identity. Null when it has ended. */
function startTimeOf(pid) {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')
    return fields[0] === 'Z' ? null : fields[19]
  } catch {
    return null
  }
}

function readLock() {
  try {
    return readFileSync(installLock, 'utf8')
  } catch {
    return null
  }
}

/** Takes the lock where nobody alive has it. A link appears with its content or not at all. */
function tryLock() {
  const mine = `${installLock}.${process.pid}`
  mkdirSync(dirname(installLock), { recursive: true })
  writeFileSync(mine, `${process.pid} ${startTimeOf(process.pid)}`)
  try {
    linkSync(mine, installLock)
    return true
  } catch (error) {
    if (error.code !== 'EEXIST') throw error
    return false
  } finally {
    rmSync(mine, { force: true })
  }
}

/** Moves a dead holder's lock out of the way. Two may try at once: who moved a living one's puts it back. */
function clearDeadLock() {
  const [pid, startTime] = (readLock() ?? '').split(' ')
  if (!pid || (startTimeOf(pid) ?? 'ended') === startTime) return
  const moved = `${installLock}.dead.${process.pid}`
  try {
    renameSync(installLock, moved)
    if (readFileSync(moved, 'utf8') !== `${pid} ${startTime}`) linkSync(moved, installLock)
    rmSync(moved)
  } catch (error) {
    if (error.code !== 'ENOENT' && error.code !== 'EEXIST') throw error
  }
}

async function installPackages() {
  for (let tries = 0; !tryLock(); tries++) {
    if (tries === 0) say(`another run installs the ${partName}: waiting`)
    clearDeadLock()
    await sleep(200)
  }
  try {
    if (isInstalled(root)) return
    const begun = performance.now()
    const durations = readJson(durationsFile) ?? {}
    const last = durations[partName]
    say(`… ${partName}${last === undefined ? '' : ` (last time ${last} s)`}`)
    const code = await ended(forwardSignals(spawn('npm', installCommand, { cwd: root, stdio: ['ignore', 2, 2] })))
    if (code !== 0) throw new Error(`npm ended with exit code ${code}`)
    if (!isInstalled(root)) throw new Error('npm installed other packages than package-lock.json names')
    const seconds = Number(((performance.now() - begun) / 1000).toFixed(1))
    say(`✓ ${partName}  ${seconds} s`)
    mkdirSync(dirname(durationsFile), { recursive: true })
    writeFileSync(durationsFile, JSON.stringify({ ...durations, [partName]: seconds }, null, 2))
  } finally {
    rmSync(installLock, { force: true })
  }
}

function forwardSignals(child) {
  for (const signal of stopSignals) process.on(signal, () => child.kill(signal))
  return child
}

/** A child's exit code; killed by a signal, 128 plus its number, as a shell has it. */
function ended(child) {
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signal) => resolve(code ?? 128 + constants.signals[signal]))
  })
}

/** npm, where it started us, and the shell that it may have put between; each with its start, pids being given out again. */
function starters() {
  if (!process.env.npm_lifecycle_event) return []
  const isShell = /^(sh|dash|bash)$/.test(readProcess(process.ppid, 'comm').trim())
  const grandparent = Number(/^PPid:\s*(\d+)/m.exec(readProcess(process.ppid, 'status'))?.[1])
  const pids = isShell && grandparent ? [process.ppid, grandparent] : [process.ppid]
  return pids.map(pid => ({ pid, startTime: startTimeOf(pid) }))
}

function readProcess(pid, file) {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return ''
  }
}

/** Asks the program to end when npm has been killed: the kernel tells us nothing of it, so we look. */
function watchStarters(child) {
  const watched = starters()
  const timer = setInterval(() => {
    if (watched.every(({ pid, startTime }) => startTimeOf(pid) === startTime)) return
    clearInterval(timer)
    child.kill('SIGTERM')
  }, 1000)
  timer.unref()
}

/** Runs the program and hands signals on. By the channel it learns that this process was killed: scripts/orphan.mjs. */
async function runProgram(file, programArguments) {
  const node = join(root, 'node_modules', '.bin', 'node')
  const preload = pathToFileURL(join(root, 'scripts', 'orphan.mjs')).href
  const child = spawn(node, ['--import', preload, file, ...programArguments], { stdio: [0, 1, 2, 'ipc'] })
  forwardSignals(child)
  watchStarters(child)
  return ended(child)
}

async function main() {
  const [file, ...programArguments] = process.argv.slice(2)
  if (!file) {
    say('usage: node scripts/run.mjs FILE.ts [ARGUMENT…]')
    return 2
  }
  if (!isInstalled(root)) await installPackages()
  return runProgram(file, programArguments)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  main().then(
    code => process.exit(code),
    error => {
      say(error.message)
      process.exit(1)
    },
  )
}
