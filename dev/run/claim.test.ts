import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { realNodeHolder } from './claim.ts'
import { listRuns, registerRun } from './runs.ts'
import { clusterFolder } from './teardown.ts'

let folder: string
let records: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'claim-'))
  records = join(folder, 'records')
})
afterEach(() => rmSync(folder, { recursive: true }))

function startRun(name: string, hasNode: boolean): void {
  const stateDir = join(folder, name)
  mkdirSync(clusterFolder(stateDir), { recursive: true })
  registerRun(stateDir, records)
  if (hasNode) writeFileSync(join(clusterFolder(stateDir), 'node.json'), '{}')
}

test('realNodeHolder returns the pid of the script that has the real node', () => {
  startRun('without', false)
  expect(realNodeHolder(listRuns(records))).toBeNull()
  startRun('with', true)
  expect(realNodeHolder(listRuns(records))).toBe(process.pid)
})

test('realNodeHolder returns null when that script has ended', () => {
  startRun('with', true)
  const left = listRuns(records).map(run => ({ ...run, owner: { pid: process.pid, startTime: '1' } }))
  expect(realNodeHolder(left)).toBeNull()
})
