import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { expect, it } from 'vitest'
import { machineMark } from '../../src/clouds/loopback/processes.ts'
import { machineMarker } from '../process/process.ts'
import { connectionsTo, isConnected, machineProcesses } from './kernel.ts'

it('isConnected knows whose connection leads to an address, while it is open', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const address = `127.0.0.1:${port}`
  expect(isConnected(process.pid, address)).toBe(false)
  const socket = connect(port, '127.0.0.1')
  await Promise.all([once(socket, 'connect'), once(server, 'connection')])
  expect(isConnected(process.pid, address)).toBe(true)
  expect(isConnected(process.ppid, address)).toBe(false)
  socket.destroy()
  server.close()
  await once(server, 'close')
  expect(isConnected(process.pid, address)).toBe(false)
})

it('connectionsTo takes open connections to the port alone', () => {
  const row = (local: string, remote: string, state: string, inode: number) =>
    `   0: 0100007F:${local} 0100007F:${remote} ${state} 00000000:00000000 00:00000000 00000000  0        0 ${inode} 1 0 20 4`
  const table = ['  sl  local_address rem_address', row('9000', '1F90', '01', 11), row('1F90', '9000', '01', 12)]
  expect(connectionsTo(0x1f90, [...table, row('9001', '1F90', '06', 13)].join('\n'))).toEqual(new Set(['11']))
})

it('machineProcesses finds processes by the mark of their machine, and no namesakes', async () => {
  const folder = `/cloud-${process.pid}`
  const child = spawn('sleep', ['1000'], { env: { ...process.env, [machineMark]: `${folder}/lo-1` } })
  await once(child, 'spawn')
  expect(machineProcesses(folder)).toEqual([child.pid])
  expect(machineProcesses(`${folder}/lo-1`)).toEqual([child.pid])
  expect(machineProcesses(`${folder}/lo-`)).toEqual([])
  child.kill()
  await once(child, 'exit')
  expect(machineProcesses(folder)).toEqual([])
})

it('the take-down of a run looks for the mark that machines have', () => {
  expect(machineMarker).toBe(machineMark)
})
