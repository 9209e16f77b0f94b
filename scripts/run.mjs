#!/usr/bin/env node
// Runs a TypeScript program of this checkout with the Node that the checkout brings along:
//
//   node scripts/run.mjs FILE.ts [ARGUMENT…]
//
// Only this file must run under the machine's own Node, 18 or later; all others can rely on Node 24.
// It installs the npm packages when they are missing or differ from package-lock.json. It prints to stderr:
// stdout belongs to the program.
import { spawn } from 'node:child_process'
import { existsSync, linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { constants, homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const installLock = join(root, '.artefacts', 'install.lock')
const stopSignals = ['SIGINT', 'SIGTERM', 'SIGHUP']

/** The file in which dev/process/progress.ts remembers durations. */
const durationsFile = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'skylab', 'durations.json')
const partName = 'npm packages'

// Follows the lockfile without changing it. `npm ci` refuses a lockfile when the registry lacks packages of other systems,
// as some lack those of Biome. Warnings would be about the machine's Node, which runs only this file.
const installCommand = ['install', '--no-save', '--no-progress', '--no-audit', '--no-fund', '--loglevel=error']

const say = text => process.stderr.write(`${text}\n`)
const sleep = ms => new Promise(resolve => setTimeout(resolve, ms))

/** The JSON in a file; null without the file. */
function readJson(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return null
  }
}

/** Whether node_modules matches package-lock.json, by npm's own list of installed packages. */
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

/** A process' start in ticks since the boot: with the pid, its identity. Null when it has ended. */
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

/** Takes the lock unless a living process has it. A link appears with its content or not at all. */
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

/** Moves a dead holder's lock away. Two processes may try at once: one that moved a living holder's lock puts it back. */
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

/** A child's exit code; when killed by a signal, 128 plus its number, as in a shell. */
function ended(child) {
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signal) => resolve(code ?? 128 + constants.signals[signal]))
  })
}

/** npm, if it started this process, and a shell in between; each with its start time, since pids are reused. */
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

/** Asks the program to end when npm has been killed; the kernel sends no event for that, so this polls. */
function watchStarters(child) {
  const watched = starters()
  const timer = setInterval(() => {
    if (watched.every(({ pid, startTime }) => startTimeOf(pid) === startTime)) return
    clearInterval(timer)
    child.kill('SIGTERM')
  }, 1000)
  timer.unref()
}

/** Runs the program and passes signals on. By the channel it notices when this process is killed: scripts/orphan.mjs. */
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
