import { expect, test } from 'vitest'
import { configSchema } from '../../src/config/schema.ts'
import { nodeIp } from '../node/network.ts'
import { labsOfHub } from './hub.ts'

test('labs of a Hub run its server, and may reach it though it is within the ranges of the cluster', () => {
  const { lab, network } = configSchema.parse(labsOfHub)
  expect(lab.command).toEqual(['jupyterhub-singleuser'])
  expect(network.egressRanges).toEqual([`${nodeIp}/32`])
  expect(network.clusterRanges).toContain('10.0.0.0/8')
})
