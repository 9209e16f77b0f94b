import { expect, test } from 'vitest'
import { systemClock } from '../../base/clock.ts'
import { dispatch } from '../../config/dispatch.ts'
import { newKey } from '../../ssh/new-key.ts'
import { reachOf } from './reach.ts'

test('reachOf passes the intervals of the configuration to the runner', () => {
  const config = dispatch.parse({
    ...{ clusterId: 'zzzzz', tokenFile: 't', Containers: { DispatchPrivateKey: 'k', RuntimeEngine: 'podman' } },
    CloudVMs: {
      ...{ Driver: 'loopback', DriverParameters: { Directory: '/machines' } },
      ...{ ProbeInterval: '7s', TimeoutTERM: '9s' },
    },
  })
  const files = {
    ...{ token: 't', previousTokens: [], managementToken: undefined, privateKey: newKey().private },
    ...{ runnerBinary: '', arvados: undefined, driverParameters: {} },
  }
  const reach = reachOf({ dispatch: config, files, types: new Map(), set: 's', clock: systemClock })
  expect(reach.runnerEnv.split(' ')).toEqual([
    'env',
    'SKYLAB_RUNNER_ENGINE=podman',
    'SKYLAB_RUNNER_GRACE_MS=9000',
    'SKYLAB_RUNNER_BEAT_MS=7000',
  ])
})
