import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { isRunning, machineMarker, startProcess, stopProcess } from '../process/process.ts'
import { clusterFolder, takeDown } from './teardown.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'teardown-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const startSleeper = (stateDir: string, name: string) => {
  mkdirSync(stateDir, { recursive: true })
  return startProcess({ name, command: 'sleep', args: ['1000'], stateDir })
}

test('takeDown ends everything that was started with the folder, and removes the folder', async () => {
  const own = await startSleeper(folder, 'redis')
  const cluster = await startSleeper(clusterFolder(folder), 'etcd')
  expect(await takeDown(folder)).toEqual([])
  expect([own, cluster].map(isRunning)).toEqual([false, false])
  expect(existsSync(folder)).toBe(false)
})

test('takeDown finds processes without a record by their marker', async () => {
  const lost = await startSleeper(folder, 'lost')
  rmSync(join(folder, 'pids'), { recursive: true })
  await takeDown(folder)
  expect(isRunning(lost)).toBe(false)
})

test('takeDown ends machines of the cloud `loopback`, which are started by others and have no other marker', async () => {
  const env = { PATH: process.env.PATH, [machineMarker]: join(folder, 'cloud/lo-1') }
  const machine = spawn('sleep', ['1000'], { detached: true, stdio: 'ignore', env })
  await once(machine, 'spawn')
  const ended = once(machine, 'exit')
  await takeDown(folder)
  expect(await ended).toEqual([null, 'SIGKILL'])
})

test('takeDown ends a cluster alone, and leaves another folder with a similar name alone', async () => {
  const own = await startSleeper(folder, 'redis')
  const cluster = await startSleeper(clusterFolder(folder), 'etcd')
  const stranger = await startSleeper(`${clusterFolder(folder)}-2`, 'etcd')
  await takeDown(clusterFolder(folder))
  expect([own, cluster, stranger].map(isRunning)).toEqual([true, false, true])
  await stopProcess(`${clusterFolder(folder)}-2`, 'etcd', 0)
  await takeDown(folder)
})

test('takeDown does nothing when the folder is gone', async () => {
  await takeDown(folder)
  expect(await takeDown(folder)).toEqual([])
})
