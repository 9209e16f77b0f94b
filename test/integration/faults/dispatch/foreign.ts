/** dispatch V4: what is not of our set stays as it is, also a machine of ours whose tag somebody takes away. */
import { attack } from '../../../kit/attack/attack.ts'
import { ownCloud } from '../../../kit/cloud/cloud.ts'
import { Site, until } from './shared.ts'

const looks = /^Describe/

attack(
  'dispatch V4 foreign machines',
  async trial => {
    const cloud = await ownCloud()
    trial.context.onTestFinished(() => cloud.close())
    const { somebody, journal } = cloud
    const [subnet] = cloud.subnets as [string]
    const foreign = [
      await somebody.runs(),
      await somebody.runs({ ArvadosInstanceSetID: 'of another installation', ArvadosInstanceType: 'small' }),
      await somebody.runs({ ArvadosIntent: 'abc', ArvadosIdleBehavior: 'run', ArvadosInstanceSecret: 'abc' }),
      await somebody.makesInterface(subnet),
      await somebody.makesInterface(subnet, { ArvadosInstanceSetID: 'of another installation' }),
    ]
    const site = await Site.start(trial, {
      types: { small: { ProviderType: 'm5.large', VCPUs: 1, RAM: '4GiB', Price: 0.1 } },
      cloud: {
        ...{ Driver: 'ec2', DriverParameters: cloud.parameters, ImageID: 'ami-12345678', TimeoutBooting: '3s' },
        ...{ TimeoutShutdown: '1s' },
      },
    })
    const uuid = await site.submit({ as: 'Cancelled' })
    await until(() => journal.of('RunInstances').filter(({ carriedOut }) => carriedOut).length).toBe(1)
    const [ours] = journal.of('RunInstances')[0]!.ids as [string]
    const tag = 'ArvadosInstanceSetID'
    const { [tag]: set } = (await somebody.sees(ours))!.tags
    trial.injected(foreign.length + 1)
    await somebody.removesTags(ours, tag)
    const from = journal.entries.length
    await site.fleet.containers.change(uuid, undefined, { cancel: 'enough' })
    // It is to end, which its keeper tries: it asks for it, and sees that it is not ours any more.
    const asked = () => journal.entries.slice(from).some(({ action, ids }) => looks.test(action) && ids.includes(ours))
    await until(asked).toBe(true)
    const sweeps = () => journal.of('DescribeNetworkInterfaces').length
    const before = sweeps()
    await until(sweeps).toBeGreaterThan(before + 1)
    trial.landed(foreign.length + 1)
    const touched = (id: string, since = 0) =>
      journal.entries.slice(since).filter(({ action, ids }) => !looks.test(action) && ids.includes(id))
    for (const id of foreign) for (const { action } of touched(id)) trial.violation(`V4 ${action} of ${id}`)
    for (const { action } of touched(ours, from)) trial.violation(`V4 ${action} of ${ours}, which has no tag`)
    // Whoever gives the tag back lets it end.
    await somebody.tags(ours, { [tag]: set! })
    await until(async () => [...(await site.fleet.list()), ...cloud.live()]).toEqual([])
    for (const id of foreign.slice(0, 3)) {
      const { state } = (await somebody.sees(id))!
      if (state !== 'running') trial.violation(`V4 ${id} is ${state}`)
    }
    await site.judge()
  },
  { concurrent: true },
)
