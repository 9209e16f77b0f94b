import { expect, test } from 'vitest'
import { configSchema } from '../../src/config/schema.ts'
import { nodeIp } from '../node/network.ts'
import { labsOfHub } from './hub.ts'

test("labsOfHub makes labs run the Hub's server, and lets them reach it inside the cluster's address ranges", () => {
  const { lab, network } = configSchema.parse(labsOfHub)
  expect(lab.command).toEqual(['jupyterhub-singleuser'])
  expect(network.egressRanges).toEqual([`${nodeIp}/32`])
  expect(network.clusterRanges).toContain('10.0.0.0/8')
})
