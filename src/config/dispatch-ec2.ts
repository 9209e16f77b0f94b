/** `DriverParameters` of the driver `ec2`, by Arvados' names where Arvados has one. */
import { z } from 'zod'
import { isLoopback } from '../base/loopback.ts'

const idOf = (prefix: string, what: string) =>
  z
    .string()
    .regex(new RegExp(`^${prefix}-[0-9a-f]{8,32}$`), { error: `not the id of ${what}, such as ${prefix}-0abc…` })

/** Arvados writes lists also as the keys of a map: `{sg-1: {}, sg-2: {}}`. */
const list = <T extends z.ZodType<string>>(item: T, most: number) =>
  z
    .union([item, z.array(item).min(1).max(most), z.record(item, z.strictObject({}))], {
      error: 'not an id, a list of ids, or a map with ids as keys',
    })
    .transform(value => {
      const items: readonly string[] =
        typeof value === 'string' ? [value] : Array.isArray(value) ? value : Object.keys(value)
      return [...new Set(items)]
    })
    .refine(items => items.length > 0 && items.length <= most, { error: `has none, or more than ${most}` })

/** Settings of Arvados that have no effect here: nobody may believe that they have. */
const without = (why: string) => z.never({ error: `is not supported: ${why}` }).optional()

function isSafe(text: string): boolean {
  const { protocol = '', host = '' } = URL.parse(text) ?? {}
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(host))
}

/** Types by the letters before their first digit; AWS counts the vCPUs of each group together. */
const quotaGroups = {
  ...Object.fromEntries([...'acdhimrtz'].map(letter => [letter, 'standard'])),
  im: 'standard',
  is: 'standard',
  g: 'g',
  gr: 'g',
  vt: 'g',
}

export const ec2Parameters = z
  .strictObject({
    Region: z
      .string()
      .regex(/^[a-z]{2}(-[a-z]+)+-\d{1,2}$/, { error: 'not a region, such as us-east-1' })
      .describe('the region of the machines'),
    SubnetID: list(idOf('subnet', 'a subnet'), 20).describe(
      'subnets for new machines, one or several: the next one is tried where one is full, or has no machine of a type',
    ),
    SecurityGroupIDs: list(idOf('sg', 'a security group'), 16).describe('security groups of new machines'),
    AccessKeyID: z
      .string()
      .regex(/^[A-Z0-9]{16,128}$/, { error: 'not an access key ID' })
      .optional()
      .describe(
        'the access key; default: the environment, AWS’ shared files, a role of the pod or container, or that of the machine',
      ),
    SecretAccessKey: z.string().min(1).optional().describe('its secret; a file is better'),
    SecretAccessKeyFile: z.string().min(1).optional().describe('a file with it, read again each minute'),
    AdminUsername: z
      .string()
      .regex(/^[a-z_][a-z0-9_-]{0,31}$/, { error: 'not the name of a user' })
      .default('debian')
      .describe('the user who logs in by SSH, and may use sudo'),
    AddressKind: z
      .enum(['private', 'public'])
      .default('private')
      .describe('the address of machines by which replicas and visitors reach them'),
    EBSVolumeType: z
      .string()
      .regex(/^[a-z0-9]{2,16}$/, { error: 'not a type of volume' })
      .default('gp2')
      .describe('the type of volumes for added scratch space'),
    IAMInstanceProfile: z
      .string()
      .regex(/^[\w+=,.@-]{1,128}$/, { error: 'not the name of an instance profile' })
      .optional()
      .describe('the instance profile of machines, by name'),
    InstanceTypeQuotaGroups: z
      .record(z.string().regex(/^[a-z]{1,12}$/), z.string().regex(/^[a-z0-9-]{1,32}$/))
      .default({})
      .transform(own => ({ ...quotaGroups, ...own }))
      .describe('group of quota by the first letters of a type; added to AWS’ own'),
    SeparateNIC: z
      .boolean()
      .default(false)
      .describe('make a network interface before each machine. It keeps its address where the machine is lost'),
    Endpoint: z
      .url()
      .refine(isSafe, { error: 'is not https: whoever is between could read secrets of machines' })
      .optional()
      .describe('of the API, such as a VPC endpoint; `http` for this machine alone'),
    SpotPriceUpdateInterval: without('prices of spot instances are not read'),
    EBSPrice: without('the price of a type is what its entry says'),
  })
  .superRefine((value, context) => {
    const secrets = [value.SecretAccessKey, value.SecretAccessKeyFile].filter(each => each !== undefined).length
    if (secrets > 1) context.addIssue('has SecretAccessKey and SecretAccessKeyFile: one is needed')
    if (value.AccessKeyID !== undefined && secrets === 0) context.addIssue('has AccessKeyID without its secret')
    if (value.AccessKeyID === undefined && secrets > 0) context.addIssue('has a secret without AccessKeyID')
    if (value.SeparateNIC && value.AddressKind === 'public')
      context.addIssue('has SeparateNIC with public addresses: EC2 gives none to an interface that was made before')
  })

export type Ec2Parameters = z.infer<typeof ec2Parameters>
