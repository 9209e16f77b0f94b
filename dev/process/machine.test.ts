import { expect, test } from 'vitest'
import { isInPods, listMachine, machineDifferences } from './machine.ts'

test('isInPods recognizes a process in a pod by its cgroup, of either version', () => {
  expect(isInPods('9:name=systemd:/\n4:memory:/kubepods/burstable/pod1/c\n')).toBe(true)
  expect(isInPods('0::/kubepods/besteffort/pod1/c\n')).toBe(true)
  expect(isInPods('0::/user.slice/kubepods\n')).toBe(false)
  expect(isInPods(null)).toBe(false)
})

test('machineDifferences marks removed and new lines', () => {
  const before = ['link       eth0', 'link       lo']
  expect(machineDifferences(before, ['link       lo', 'link       skylab0'])).toEqual([
    '- link       eth0',
    '+ link       skylab0',
  ])
  expect(machineDifferences(before, [...before].reverse())).toEqual([])
})

test('listMachine lists what every machine has, sorted', async () => {
  const lines = await listMachine({ processes: false })
  expect(lines).toContain('mount      /proc')
  expect(lines.some(line => line.startsWith('sysctl     net.ipv4.ip_forward = '))).toBe(true)
  expect(lines).toEqual([...lines].sort())
})
