import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { formatGuide, howToEnd, makeReport, type ReportSource } from './report.ts'
import { roundSeconds } from './say.ts'

const stack: ReportSource & { secrets: string } = {
  url: 'http://127.0.0.1:8000',
  cluster: { kubeconfig: '/state/kubeconfig' },
  redis: { url: 'redis://127.0.0.1:7000' },
  replicas: [{ pid: 11, url: 'http://127.0.0.1:8001', monitoringUrl: 'http://127.0.0.1:9001' }],
  users: { ada: { token: 'ada-1' }, grace: { token: 'grace-2' }, admin: { token: 'admin-3' } },
  secrets: 'not for printing',
}
const lab = { status: 'running', internal_url: 'http://nb-ada.nublado-ada:8888/', http: 200 }
const options = { image_type: 'recommended' }

describe('makeReport', () => {
  it('returns what --json prints, key by key', () => {
    const report = makeReport(stack, { options, lab, seconds: { setup: 12.3, spawn: 7, delete: 6 } })
    expect(JSON.parse(JSON.stringify(report))).toEqual({
      url: 'http://127.0.0.1:8000',
      kubeconfig: '/state/kubeconfig',
      redis: 'redis://127.0.0.1:7000',
      replicas: [{ pid: 11, url: 'http://127.0.0.1:8001', monitoringUrl: 'http://127.0.0.1:9001' }],
      users: { ada: { token: 'ada-1' }, grace: { token: 'grace-2' }, admin: { token: 'admin-3' } },
      options: { image_type: 'recommended' },
      lab: { status: 'running', internal_url: 'http://nb-ada.nublado-ada:8888/', http: 200 },
      seconds: { setup: 12.3, spawn: 7, delete: 6 },
    })
    expect(JSON.stringify(report)).not.toContain('\n')
  })

  it('has null for what was not done', () => {
    const report = makeReport(stack, { options: null, lab: null, seconds: { setup: 1, spawn: null, delete: null } })
    expect(report).toMatchObject({ options: null, lab: null, seconds: { spawn: null, delete: null } })
  })
})

describe('formatGuide', () => {
  const guide = (http: number | null) =>
    formatGuide(
      makeReport(stack, { options, lab: { ...lab, http }, seconds: { setup: 1, spawn: 1, delete: null } }),
      '/bin/kubectl',
    )

  it('has lines to copy for status, events, metrics, the cluster and a crash', () => {
    const text = guide(200)
    expect(text).toContain("-H 'Authorization: Bearer ada-1' http://127.0.0.1:8000/nublado/spawner/v1/user-status")
    expect(text).toContain('/labs/ada/events')
    expect(text).toContain('http://127.0.0.1:9001/metrics')
    expect(text).toContain('/bin/kubectl --kubeconfig /state/kubeconfig')
    expect(text).toContain('within 10 s')
    expect(text).toContain('/api answers 200')
  })

  it('has a line that kills only the replica which makes a lab', async () => {
    const processes = ['0', '1'].map(() => spawn('sleep', ['60']))
    const ended = processes.map(each => once(each, 'exit'))
    const servers = ['0', '1'].map(owned =>
      createServer((_, response) =>
        response.end(`# HELP\nskylab_replica_operations{subject_kind="lab"} ${owned}\n`),
      ).listen(0, '127.0.0.1'),
    )
    try {
      await Promise.all(servers.map(each => each.listening || once(each, 'listening')))
      const replicas = servers.map((each, index) => {
        const monitoringUrl = `http://127.0.0.1:${(each.address() as AddressInfo).port}`
        return { pid: processes[index]!.pid!, url: '', monitoringUrl }
      })
      const report = makeReport({ ...stack, replicas }, { options, lab, seconds: { setup: 1, spawn: 1, delete: null } })
      const line = /^ +(for each in .*)$/m.exec(formatGuide(report, '/bin/kubectl'))![1]!
      // The loop ends with the answer of the last replica.
      await promisify(execFile)('sh', ['-c', line])
      expect((await ended[1])![1]).toBe('SIGKILL')
      expect([processes[0]!.exitCode, processes[0]!.signalCode]).toEqual([null, null])
    } finally {
      for (const each of processes) each.kill('SIGKILL')
      for (const each of servers) each.close()
    }
  })

  it('claims no answer when no pod runs', () => {
    expect(guide(null)).toContain('not asked')
  })
})

describe('howToEnd', () => {
  it('names the process to signal', () => {
    expect(howToEnd(17)).toBe('Ctrl-C ends it all. In the background: kill 17')
  })
})

describe('roundSeconds', () => {
  it('keeps two decimals', () => expect(roundSeconds(1234.5)).toBe(1.23))
})
