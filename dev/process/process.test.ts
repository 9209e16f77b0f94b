import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { waitUntil } from './api-client.ts'
import {
  isRunning,
  killAll,
  markedProcesses,
  ownId,
  readRecord,
  recordedNames,
  signalProcess,
  startProcess,
  startTimeOf,
  stopProcess,
} from './process.ts'

let stateDir: string
beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'process-'))
})
afterEach(async () => {
  await killAll(markedProcesses().filter(process => process.stateDir === stateDir))
  rmSync(stateDir, { recursive: true, force: true })
})

const startSleeper = (name = 'sleeper') => startProcess({ name, command: 'sleep', args: ['1000'], stateDir })

/** A program that writes to its log once it runs. */
async function startNode(name: string, code: string) {
  const started = await startProcess({ name, command: process.execPath, args: ['-e', code], stateDir })
  const isUp = async () => readFileSync(started.logFile, 'utf8').includes('up')
  await waitUntil(isUp, { what: name, limitMs: 20_000 })
  return started
}

test('startProcess records the identity of a program, and marks it', async () => {
  const started = await startSleeper()
  expect(readRecord(stateDir, 'sleeper')).toEqual({ pid: started.pid, startTime: started.startTime })
  expect(recordedNames(stateDir)).toEqual(['sleeper'])
  expect(isRunning(started)).toBe(true)
  expect(markedProcesses()).toContainEqual({ pid: started.pid, startTime: started.startTime, stateDir })
})

test('startProcess marks grandchildren too, which can outlive the program', async () => {
  const code = `require('child_process').spawn('sleep', ['1000'], {detached: true}).once('spawn', () => console.log('up'))
    setInterval(() => {}, 1000)`
  const started = await startNode('parent', code)
  await stopProcess(stateDir, 'parent', 0)
  const left = markedProcesses().filter(process => process.stateDir === stateDir)
  expect(left).toHaveLength(1)
  expect(left[0]?.pid).not.toBe(started.pid)
})

test('startProcess passes on only PATH and the named variables', async () => {
  process.env.PROCESS_TEST_PROXY = 'http://proxy.invalid'
  const started = await startNode('printer', 'console.log(JSON.stringify(process.env), "up")')
  delete process.env.PROCESS_TEST_PROXY
  const environment = JSON.parse(readFileSync(started.logFile, 'utf8').replace(/ up\s*$/, ''))
  expect(Object.keys(environment).sort()).toEqual(['HOME', 'PATH', 'SKYLAB_BOX'])
})

test('stopProcess asks a program to end, and removes its record', async () => {
  const started = await startNode(
    'polite',
    `process.on('SIGTERM', () => process.exit(7)); setInterval(() => {}, 1000); console.log('up')`,
  )
  await stopProcess(stateDir, 'polite', 20_000)
  expect(await started.ended).toBe(7)
  expect(isRunning(started)).toBe(false)
  expect(readRecord(stateDir, 'polite')).toBeNull()
})

test('stopProcess kills a program that has not ended after the grace time', async () => {
  const started = await startNode(
    'deaf',
    `process.on('SIGTERM', () => {}); setInterval(() => {}, 1000); console.log('up')`,
  )
  await stopProcess(stateDir, 'deaf', 50)
  expect(await started.ended).toBe('SIGKILL')
})

test('stopProcess resumes a halted program, so that it gets the request', async () => {
  const started = await startNode(
    'halted',
    `process.on('SIGTERM', () => process.exit(7)); setInterval(() => {}, 1000); console.log('up')`,
  )
  signalProcess(stateDir, 'halted', 'SIGSTOP')
  await stopProcess(stateDir, 'halted', 20_000)
  expect(await started.ended).toBe(7)
})

test('signalProcess never signals another process that has the same pid', async () => {
  const stranger = await startSleeper()
  writeFileSync(join(stateDir, 'pids', 'gone'), `${stranger.pid} 1\n`)
  expect(signalProcess(stateDir, 'gone', 'SIGKILL')).toBe(false)
  await stopProcess(stateDir, 'gone', 0)
  expect(isRunning(stranger)).toBe(true)
})

test('startTimeOf returns null for an ended process that its parent has not collected', async () => {
  // A shell that became sleep never collects its child, which ends when its input is closed.
  const script = '{ cat <&3 & echo $!; } 3<&0; exec sleep 1000'
  const shell = spawn('sh', ['-c', script], { stdio: ['pipe', 'pipe', 'ignore'] })
  const [line] = await once(shell.stdout, 'data')
  const pid = Number(String(line))
  try {
    const isSleep = async () => readFileSync(`/proc/${shell.pid}/comm`, 'utf8') === 'sleep\n'
    await waitUntil(isSleep, { what: 'exec', limitMs: 20_000 })
    expect(startTimeOf(pid)).not.toBeNull()
    shell.stdin.end()
    const isZombie = async () => /\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
    await waitUntil(isZombie, { what: 'zombie', limitMs: 20_000 })
    expect(startTimeOf(pid)).toBeNull()
  } finally {
    shell.kill('SIGKILL')
  }
})

test('isRunning is true for a process whose first thread has ended while another one holds its files', async () => {
  const code = `import ctypes, threading, time
threading.Thread(target=time.sleep, args=(1000,)).start()
print('up', flush=True)
ctypes.CDLL(None).pthread_exit(None)`
  const started = await startProcess({ name: 'threads', command: 'python3', args: ['-c', code], stateDir })
  const isHalfDead = async () => /\) Z /.test(readFileSync(`/proc/${started.pid}/stat`, 'utf8'))
  await waitUntil(isHalfDead, { what: 'first thread', limitMs: 20_000 })
  expect(isRunning(started)).toBe(true)
})

test('startProcess starts nothing in a removed folder', async () => {
  rmSync(stateDir, { recursive: true })
  await expect(startSleeper()).rejects.toThrow('ENOENT')
})

test('startProcess rejects when the program does not exist', async () => {
  mkdirSync(join(stateDir, 'log'))
  await expect(startProcess({ name: 'none', command: '/none', args: [], stateDir })).rejects.toThrow('ENOENT')
})

test('ownId identifies a running process', () => {
  expect(isRunning(ownId())).toBe(true)
})
