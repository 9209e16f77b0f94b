import { appendFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { AuditLog } from './audit.ts'

const folder = mkdtempSync(join(tmpdir(), 'skylab-test-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** An answered request of the controller, as a line of the API server's log. */
const line = (name: string, second: number, namespace = 'full-ada') => {
  const at = `2026-01-01T00:00:${String(second).padStart(2, '0')}.000000Z`
  const about = { verb: 'create', requestURI: '/', userAgent: 'skylab/1 replica=a op=7', auditID: name }
  const times = { requestReceivedTimestamp: at, stageTimestamp: at }
  const objectRef = { resource: 'pods', namespace, name }
  return `${JSON.stringify({ ...about, ...times, objectRef, stage: 'ResponseComplete', responseStatus: { code: 201 } })}\n`
}

function emptyLog(name: string): string {
  const file = join(folder, name)
  appendFileSync(file, '')
  return file
}

const names = (requests: readonly { readonly name: string }[]) => requests.map(({ name }) => name)

test('AuditLog returns the requests since its start by arrival, also when the log grows between reads', async () => {
  const file = emptyLog('grows')
  const log = new AuditLog(file)
  appendFileSync(file, line('second', 2) + line('first', 1))
  expect(names(await log.all())).toEqual(['first', 'second'])
  appendFileSync(file, line('third', 3))
  expect(names(await log.all())).toEqual(['first', 'second', 'third'])
  expect(names(await log.writesOf('full-ada'))).toEqual(['first', 'second', 'third'])
  expect(await log.writesOf('full-grace')).toEqual([])
})

test('AuditLog reads an incomplete line only when it is complete', async () => {
  const file = emptyLog('half')
  const log = new AuditLog(file)
  const [whole, half] = [line('whole', 1), line('half', 2)]
  appendFileSync(file, whole + half.slice(0, 40))
  expect(names(await log.all())).toEqual(['whole'])
  appendFileSync(file, half.slice(40))
  expect(names(await log.all())).toEqual(['whole', 'half'])
})

test('several AuditLogs of one file return only later requests, each once, when they read at the same time', async () => {
  const file = emptyLog('shared')
  appendFileSync(file, line('before', 1))
  const older = new AuditLog(file)
  appendFileSync(file, line('between', 2))
  const newer = new AuditLog(file)
  appendFileSync(file, line('after', 3))
  const asked = await Promise.all([newer.all(), older.all(), newer.all(), older.all()])
  expect(asked.map(names)).toEqual([['after'], ['between', 'after'], ['after'], ['between', 'after']])
})
