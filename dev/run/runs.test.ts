import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { forgetRun, listRuns, registerRun, sweepRuns } from './runs.ts'

let folder: string
let records: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'runs-'))
  records = join(folder, 'records')
})
afterEach(() => rmSync(folder, { recursive: true }))

function makeRun(name: string): string {
  const stateDir = join(folder, name)
  mkdirSync(join(stateDir, 'pids'), { recursive: true })
  registerRun(stateDir, records)
  return stateDir
}

function change(stateDir: string, changes: object): void {
  const file = join(records, readdirSync(records).find(name => stateDir.endsWith(name.replace('.json', '')))!)
  writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), ...changes }))
}

/** Changes the record as if the script had been killed: its pid belongs to another process, or to none. */
const kill = (stateDir: string) => change(stateDir, { owner: { pid: process.pid, startTime: '1' } })

async function sweep(answer = true): Promise<string[]> {
  const taken: string[] = []
  const takeDown = async (stateDir: string) => {
    taken.push(stateDir)
    return answer
  }
  await sweepRuns(takeDown, records)
  return taken
}

test('sweepRuns leaves a run alone while its script is alive', async () => {
  makeRun('alive')
  expect(await sweep()).toEqual([])
  expect(listRuns(records)).toHaveLength(1)
})

test('sweepRuns takes down the run of a killed script, removes its record, and keeps others', async () => {
  const [alive, dead] = [makeRun('alive'), makeRun('dead')]
  kill(dead)
  expect(await sweep()).toEqual([dead])
  expect(listRuns(records).map(run => run.stateDir)).toEqual([alive])
})

test('sweepRuns takes a run down once when called twice at the same time', async () => {
  kill(makeRun('dead'))
  const both = await Promise.all([sweep(), sweep()])
  expect(both.flat()).toHaveLength(1)
})

test('sweepRuns keeps the record of a run that it could not take down yet', async () => {
  const dead = makeRun('dead')
  kill(dead)
  await sweep(false)
  expect(await sweep()).toEqual([dead])
})

test('sweepRuns ignores recorded pids after a reboot', async () => {
  const old = makeRun('old')
  change(old, { bootId: 'another' })
  expect(await sweep()).toEqual([old])
  expect(existsSync(join(old, 'pids'))).toBe(false)
  expect(existsSync(old)).toBe(true)
})

test('forgetRun removes the folder of records with the last run', () => {
  const [one, two] = [makeRun('one'), makeRun('two')]
  forgetRun(one, records)
  expect(existsSync(records)).toBe(true)
  forgetRun(two, records)
  expect(existsSync(records)).toBe(false)
  expect(listRuns(records)).toEqual([])
})
