import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { folderVariable, strikes } from './arms.ts'
import { FailpointArms } from './failpoint-arms.ts'

const module = fileURLToPath(new URL('./failpoints.ts', import.meta.url))
const source = fileURLToPath(new URL('../../../src/base/failpoint.ts', import.meta.url))
/** Passes the points in its argument one after another, and prints each. */
const program = `
  const { failpoint } = await import(${JSON.stringify(source)})
  for (const [point, user] of JSON.parse(process.argv[1])) {
    await failpoint(point, user)?.catch(error => console.log(error.message))
    console.log('passed ' + point)
  }`
/** Passes all points at once, and prints in how many turns of its event loop, counted by a timer, it passed them. */
const together = `
  const { failpoint } = await import(${JSON.stringify(source)})
  let turn = 0
  const timer = setInterval(() => { turn += 1 }, 1)
  const pass = point => failpoint(point).then(() => turn)
  console.log(new Set(await Promise.all(JSON.parse(process.argv[1]).map(([point]) => pass(point)))).size)
  clearInterval(timer)`

let folder: string
let failpoints: FailpointArms
const children: ChildProcess[] = []
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'skylab-failpoints-'))
  failpoints = new FailpointArms(join(folder, 'failpoints'))
})
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
  rmSync(folder, { recursive: true })
})

/** Runs a process that passes points. `ended` resolves with its output and its exit code or signal. */
function pass(points: readonly (readonly [string, string?])[], { replica = 'replica-1', code = program } = {}) {
  const env = { ...process.env, [folderVariable]: failpoints.folder, SKYLAB_REPLICA: replica }
  const args = ['--import', module, '--input-type=module', '-e', code, JSON.stringify(points)]
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] })
  children.push(child)
  let out = ''
  child.stdout!.on('data', (chunk: Buffer) => {
    out += chunk
  })
  return { child, ended: once(child, 'close').then(([code, signal]) => ({ out, how: signal ?? code })) }
}

test('a process is killed at the armed point once in all its lives, and leaves a mark', async () => {
  const arm = failpoints.arm('lab.create.make.pod.after-act', 'kill')
  const points = [['lab.create.make.pod.before-act'], ['lab.create.make.pod.after-act', 'ada']] as const
  expect(await pass(points).ended).toEqual({ out: `passed ${points[0][0]}\n`, how: 'SIGKILL' })
  expect(arm.marks()).toMatchObject([{ point: points[1][0], user: 'ada', replica: 'replica-1' }])
  expect((await pass(points).ended).how).toBe(0)
  expect(arm.marks()).toHaveLength(1)
})

test('as many processes strike as the arm has blows when several pass its point', async () => {
  const once = failpoints.arm('a', 'kill')
  const twice = failpoints.arm('b', 'kill', { times: 2 })
  const ends = await Promise.all(['a', 'a', 'a', 'b', 'b', 'b'].map(point => pass([[point]]).ended))
  expect(ends.slice(0, 3).filter(({ how }) => how === 'SIGKILL')).toHaveLength(1)
  expect(ends.slice(3).filter(({ how }) => how === 'SIGKILL')).toHaveLength(2)
  expect([once.marks().length, twice.marks().length]).toEqual([1, 2])
})

test('a held process continues when the arm is released after landed() resolves', async () => {
  const arm = failpoints.arm('a', 'hold')
  const { ended } = pass([['a'], ['a']])
  await arm.landed()
  arm.release()
  expect(await ended).toEqual({ out: 'passed a\npassed a\n', how: 0 })
})

test('a held group continues before any timer that is due when its stopped process wakes', async () => {
  const points = [['a'], ['b'], ['c']] as const
  const arms = points.map(([point]) => failpoints.arm(point, 'hold', { group: 'g' }))
  const { child, ended } = pass(points, { code: together })
  await Promise.all(arms.map(arm => arm.landed()))
  await failpoints.stopHeld('g', child.pid!)
  child.kill('SIGCONT')
  expect(await ended).toEqual({ out: '1\n', how: 0 })
})

test('a note leaves only a mark', async () => {
  const arm = failpoints.arm('a', 'note', { times: null })
  expect((await pass([['a'], ['a']]).ended).out).toBe('passed a\n'.repeat(2))
  expect(arm.marks()).toHaveLength(2)
})

test('a throwing arm throws at every pass until it is disarmed', async () => {
  const arm = failpoints.arm('a', 'throw', { times: null })
  expect((await pass([['a'], ['a']]).ended).out).toBe('a test broke a\npassed a\n'.repeat(2))
  arm.disarm()
  expect((await pass([['a']]).ended).out).toBe('passed a\n')
})

test('a process that stopped itself continues when it gets SIGCONT', async () => {
  const arm = failpoints.arm('a', 'stop')
  const { child, ended } = pass([['a']])
  const { pid } = await arm.landed()
  expect(pid).toBe(child.pid)
  child.kill('SIGCONT')
  expect((await ended).how).toBe(0)
})

test('an arm strikes only when point, user and replica match', () => {
  const arm = { id: '1', point: 'lab.create.*', effect: 'kill', times: 1, user: 'ada', replica: 'replica-1' } as const
  const at = { point: 'lab.create.make.pod.after-commit', user: 'ada', replica: 'replica-1' }
  expect(strikes(arm, at)).toBe(true)
  for (const other of [{ point: 'lab.delete.pod.after-act' }, { user: 'bob' }, { replica: 'replica-2' }]) {
    expect(strikes(arm, { ...at, ...other })).toBe(false)
  }
  expect(strikes({ ...arm, point: 'lab.create' }, at)).toBe(false)
})

test('landed() rejects when the blow does not land within the limit', async () => {
  await expect(failpoints.arm('a', 'kill').landed(1, 50)).rejects.toThrow('a: blow 1 has not landed')
})
