/** A request to EC2, as the front reads it. */

export interface Call {
  readonly action: string
  /** All parameters of the query. */
  readonly parameters: ReadonlyMap<string, string>
  /** Names who asks. */
  readonly agent: string
  readonly authorization: string
  /** ClientToken. */
  readonly token: string | undefined
  /** Machines and interfaces that it names. */
  readonly ids: readonly string[]
  readonly type: string | undefined
  readonly subnet: string | undefined
}

export function callOf(body: string, agent: string, authorization: string): Call {
  const parameters = new Map(new URLSearchParams(body))
  const ids = [...parameters]
    .filter(([name]) => /^(InstanceId|ResourceId|NetworkInterfaceId)(\.\d+)?$/.test(name))
    .map(([, id]) => id)
  return {
    ...{ parameters, agent, authorization, ids },
    action: parameters.get('Action') ?? '',
    token: parameters.get('ClientToken'),
    type: parameters.get('InstanceType'),
    subnet: parameters.get('NetworkInterface.1.SubnetId') ?? parameters.get('SubnetId'),
  }
}

/** The same request with other parameters; undefined removes one. */
export function bodyOf(call: Call, changes: Readonly<Record<string, string | undefined>> = {}): string {
  const form = new URLSearchParams([...call.parameters])
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined) form.delete(name)
    else form.set(name, value)
  }
  return form.toString()
}

/** The tags that a request puts on what it makes. */
export function tagsOf(call: Call): Record<string, string> {
  const tags: Record<string, string> = {}
  for (const [name, key] of call.parameters) {
    const place = /^(TagSpecification\.1\.Tag\.\d+)\.Key$/.exec(name)?.[1]
    if (place) tags[key] = call.parameters.get(`${place}.Value`) ?? ''
  }
  return tags
}
