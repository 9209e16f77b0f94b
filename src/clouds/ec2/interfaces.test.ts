import { expect, it, test } from 'vitest'
import { systemClock } from '../../base/clock.ts'
import { ec2Parameters } from '../../config/dispatch-ec2.ts'
import type { CloudCall, PreResource } from '../driver.ts'
import { CloudRefused } from '../errors.ts'
import { createEc2Driver } from './driver.ts'
import { type Answer, done, interfaces, scriptedEc2 } from './testing/scripted-ec2.ts'

const call: CloudCall = { signal: new AbortController().signal, agent: 'replica-1/7/2' }
const resource: PreResource = { kind: 'network-interface', id: 'eni-1', tags: { InstanceSetID: 'ours' }, createdMs: 0 }

async function site(answers: Readonly<Record<string, readonly Answer[]>>) {
  const ec2 = await scriptedEc2(answers)
  const parameters = ec2Parameters.parse({
    ...{ Region: 'us-east-1', SubnetID: 'subnet-0000000a', SecurityGroupIDs: 'sg-12345678', Endpoint: ec2.url },
    ...{ AccessKeyID: 'AKIAIOSFODNN7EXAMPLE', SecretAccessKey: 'example', SeparateNIC: true },
  })
  const sets = { tag: 'InstanceSetID', values: ['ours'] }
  return { ec2, driver: createEc2Driver({ parameters, sets, clock: systemClock }) }
}

test('orphans are interfaces of our set, of all pages, which no machine has', async () => {
  const created = { InstanceSetID: 'ours', CreatedAt: '2026-01-02T03:04:05.000Z' }
  const { driver } = await site({
    DescribeNetworkInterfaces: [
      interfaces(
        [
          { id: 'eni-1', tags: created },
          { id: 'eni-2', status: 'in-use' },
        ],
        'next',
      ),
      interfaces([{ id: 'eni-3', tags: { InstanceSetID: 'theirs' } }, { id: 'eni-4' }]),
    ],
  })
  const found = await driver.orphans(call)
  expect(found.map(({ id, createdMs }) => [id, createdMs])).toEqual([
    ['eni-1', Date.parse(created.CreatedAt)],
    ['eni-4', undefined],
  ])
})

it.each([
  ['of another set', [{ id: 'eni-1', tags: { InstanceSetID: 'theirs' } }]],
  ['without a tag', [{ id: 'eni-1', tags: {} }]],
])('remove refuses an interface %s by its tags of now, whatever it was listed with', async (_, list) => {
  const { driver, ec2 } = await site({ DescribeNetworkInterfaces: [interfaces(list)] })
  await expect(driver.remove(resource, call)).rejects.toBeInstanceOf(CloudRefused)
  expect(ec2.actions).toEqual(['DescribeNetworkInterfaces'])
})

it.each([
  ['a machine has by now', interfaces([{ id: 'eni-1', status: 'in-use' }])],
  ['is gone', { code: 'InvalidNetworkInterfaceID.NotFound' }],
  ['is not the one of the answer', interfaces([{ id: 'eni-2' }])],
])('remove sends nothing when the interface %s', async (_, answer) => {
  const { driver, ec2 } = await site({ DescribeNetworkInterfaces: [answer] })
  await driver.remove(resource, call)
  expect(ec2.actions).toEqual(['DescribeNetworkInterfaces'])
})

test('remove deletes an orphan, and is no error when another replica was faster', async () => {
  const { driver, ec2 } = await site({
    DescribeNetworkInterfaces: [interfaces([{ id: 'eni-1' }])],
    DeleteNetworkInterface: [done('DeleteNetworkInterface'), { code: 'InvalidNetworkInterfaceID.NotFound' }],
  })
  await driver.remove(resource, call)
  await driver.remove(resource, call)
  expect(ec2.actions.filter(action => action === 'DeleteNetworkInterface')).toHaveLength(2)
})
