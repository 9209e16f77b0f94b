/** The driver of EC2 against the test cloud, with and without interfaces that are made first. */
import { afterAll, beforeAll } from 'vitest'
import { driverOf, intentOf, type OwnCloud, ownCloud, startLimitMs } from '../../../test/kit/cloud/cloud.ts'
import { contractOf, type TestCloud } from '../testing/contract.ts'

let cloud: OwnCloud

beforeAll(async () => {
  cloud = await ownCloud()
  // A machine is pending for a while, as on AWS.
  cloud.faults.pendingMs = 30
  // More than one page.
  cloud.faults.pageSize = 5
}, startLimitMs)
afterAll(() => cloud?.close())

const account = (over: object): TestCloud => ({
  driver: set => driverOf(cloud, set, over),
  intent: intentOf,
  foreign: async () => {
    const id = await cloud.somebody.runs({ Name: 'skylab', Team: 'others' })
    const before = JSON.stringify(await cloud.somebody.sees(id))
    return { id, isUntouched: async () => JSON.stringify(await cloud.somebody.sees(id)) === before }
  },
  close: async () => {},
})

contractOf('ec2', async () => account({}))
contractOf('ec2 with SeparateNIC', async () => account({ SeparateNIC: true }))
