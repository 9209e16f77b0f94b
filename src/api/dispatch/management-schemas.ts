/** Schemas of what operators ask about containers and machines, by Arvados' names. */
import { z } from '@hono/zod-openapi'
import { containerStates } from '../../dispatch/container.ts'
import { component } from '../document/components.ts'
import { named } from '../document/schemas.ts'

const id = (words: string, example: string) =>
  z.string().min(1).max(253).optional().openapi({ description: words, example })
const reason = z
  .string()
  .max(256)
  .optional()
  .openapi({ description: 'why, for records and logs', example: 'it is slow' })

/** Missing ones are 400, as in Arvados. */
export const containerQuery = z.strictObject({
  container_uuid: id('the uuid of the container; required', 'zzzzz-dz642-000000000000a1b'),
})
export const containerKillQuery = containerQuery.extend({ reason })
export const instanceQuery = z.strictObject({
  instance_id: id('the cloud’s id of the instance, or its name here; required', 'i-0123456789abcdef0'),
})
export const instanceKillQuery = instanceQuery.extend({ reason })

const instanceType = component(
  'InstanceType',
  z.object({
    Name: z.string().describe('its name in the configuration'),
    ProviderType: z.string().describe('its name in the cloud'),
    VCPUs: z.number().describe('virtual processors'),
    RAM: z.number().describe('bytes of memory'),
    IncludedScratch: z.number().describe('bytes of disk that come with it'),
    AddedScratch: z.number().describe('bytes of disk that are added'),
    Price: z.number().describe('for an hour'),
    Preemptible: z.boolean().describe('whether the cloud may take it back'),
  }),
  'a type of machine that is offered',
)

const queuedFields = {
  container: component(
    'ContainerInQueue',
    z.object({
      uuid: z.string().describe('its name'),
      owner: z.string().describe('the user who asked for it'),
      state: z.enum(containerStates).describe('what it does'),
      priority: z.number().describe('higher ones run earlier'),
      container_image: z.string().describe('its image'),
      runtime_constraints: z.looseObject({}).describe('what it may use'),
      scheduling_parameters: z.looseObject({}).describe('how it is scheduled'),
      created_at: z.string().describe('when it was accepted'),
      started_at: z.string().nullable().describe('when it began; null before'),
    }),
    'a container that has not ended, without its command',
  ),
  instance_types: z.array(instanceType).describe('the types that it fits, cheapest first'),
  first_seen_at: z.string().describe('when it was accepted'),
  scheduling_status: z.string().describe('why it waits, in words'),
}

export const queuedBody = named('QueuedContainer', z.object(queuedFields))

export const queuedContainers = named(
  'QueuedContainers',
  z.object({
    items: z
      .array(component('EntryOfQueue', z.object(queuedFields), 'an entry of the queue'))
      .describe('those that run, then those that are allocated, then those that wait'),
    more: z.boolean().describe('whether there are more than these'),
  }),
)

const instance = component(
  'Instance',
  z.object({
    instance: z.string().describe('the cloud’s id; empty while it is being made'),
    address: z.string().describe('where its SSH server listens'),
    price: z.number().describe('for an hour'),
    arvados_instance_type: z.string().describe('its type in the configuration'),
    provider_instance_type: z.string().describe('its type in the cloud'),
    last_container_uuid: z.string().describe('its present or last container'),
    last_busy: z.string().describe('when its last container ended, or it was made'),
    running_container_uuids: z.array(z.string()).describe('what it runs, or was asked to run'),
    worker_state: z.enum(['unknown', 'booting', 'idle', 'running', 'shutdown']).describe('what it does'),
    idle_behavior: z.enum(['run', 'hold', 'drain']).describe('what becomes of it when it is idle'),
    name: z.string().describe('its name here, which its tag Intent has'),
    tenant: z.string().describe('the tenant of its present or last container'),
    created_at: z.string().describe('when it was wanted'),
    ending: z.string().describe('why it is being shut down; empty if it is not'),
    broken: z.string().describe('why it gets no more containers; empty if it does'),
  }),
  'a machine that is not gone',
)

export const instances = named('Instances', z.object({ items: z.array(instance).describe('in no order') }))
