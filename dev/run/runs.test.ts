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

/** As if the script had been killed: its pid lives on as another process, or not at all. */
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

test('a run whose script is alive is left alone', async () => {
  makeRun('alive')
  expect(await sweep()).toEqual([])
  expect(listRuns(records)).toHaveLength(1)
})

test('a run whose script was killed is taken down and struck out, others stay', async () => {
  const [alive, dead] = [makeRun('alive'), makeRun('dead')]
  kill(dead)
  expect(await sweep()).toEqual([dead])
  expect(listRuns(records).map(run => run.stateDir)).toEqual([alive])
})

test('two that sweep at once do it once', async () => {
  kill(makeRun('dead'))
  const both = await Promise.all([sweep(), sweep()])
  expect(both.flat()).toHaveLength(1)
})

test('a run that could not be taken down yet is kept for the next time', async () => {
  const dead = makeRun('dead')
  kill(dead)
  await sweep(false)
  expect(await sweep()).toEqual([dead])
})

test('after a reboot the recorded pids are not believed', async () => {
  const old = makeRun('old')
  change(old, { bootId: 'another' })
  expect(await sweep()).toEqual([old])
  expect(existsSync(join(old, 'pids'))).toBe(false)
  expect(existsSync(old)).toBe(true)
})

test('the folder of records goes with the last run', () => {
  const [one, two] = [makeRun('one'), makeRun('two')]
  forgetRun(one, records)
  expect(existsSync(records)).toBe(true)
  forgetRun(two, records)
  expect(existsSync(records)).toBe(false)
  expect(listRuns(records)).toEqual([])
})
