import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { freePort } from './ports.ts'
import { readRecord, recordedNames, stopProcess } from './process.ts'
import { controlServer, startServer } from './server.ts'

let stateDir: string
beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'server-'))
})
afterEach(async () => {
  await Promise.all(recordedNames(stateDir).map(name => stopProcess(stateDir, name, 0)))
  rmSync(stateDir, { recursive: true })
})

const limitMs = 20_000

/** A server that answers hello once it listens. */
async function greeter() {
  const port = await freePort()
  const program = `require('node:http').createServer((_, answer) => answer.end('hello')).listen(${port}, '127.0.0.1')`
  const spec = { name: 'greeter', command: process.execPath, args: ['-e', program], stateDir }
  const answers = async () => {
    const answer = await fetch(`http://127.0.0.1:${port}`, { signal: AbortSignal.timeout(300) })
    return (await answer.text()) === 'hello'
  }
  return { spec, readiness: { answers, limitMs } }
}

test('controlServer kills a server, starts it again at its address, halts and resumes it', async () => {
  const { spec, readiness } = await greeter()
  const { answers } = readiness
  await startServer(spec, readiness)
  const control = controlServer(spec, readiness)
  const first = readRecord(stateDir, 'greeter')
  await control.pause()
  await expect(answers()).rejects.toThrow('timeout')
  await control.resume()
  expect(await answers()).toBe(true)
  await control.kill()
  await expect(answers()).rejects.toThrow('fetch failed')
  await control.start()
  expect(await answers()).toBe(true)
  await control.restart()
  expect(await answers()).toBe(true)
  expect(readRecord(stateDir, 'greeter')).not.toEqual(first)
})

test('startServer rejects at once with the log when the program ends instead of answering', async () => {
  const args = ['-e', 'console.error("no such setting"); process.exitCode = 1']
  const spec = { name: 'broken', command: process.execPath, args, stateDir }
  await expect(startServer(spec, { answers: async () => false, limitMs })).rejects.toThrow(
    'broken has ended:\nno such setting',
  )
})
