/** What stands in place of what a create copies from the cluster, where no cluster is asked. Pure. */
import type { Config } from '../config/schema.ts'
import type { LabSources } from '../labs/sources.ts'

/** Of a user who has had no lab yet; each value says in words what it is a copy of. */
export function sourcesInWords({ secrets, volumes }: Pick<Config['lab'], 'secrets' | 'volumes'>): LabSources {
  const ofKey = ({ name, key }: { name: string; key: string }) => base64(`<${key} of the Secret ${name}>`)
  const files = secrets.filter(({ pull }) => !pull).map(secret => [secret.as ?? secret.key, ofKey(secret)] as const)
  const pull = secrets.find(secret => secret.pull)
  const copies = volumes.flatMap(({ name, configMap }) => {
    return configMap ? [[name, { data: { '…': `<the files of the ConfigMap ${configMap.name}>` } }] as const] : []
  })
  return {
    secrets: Object.fromEntries(files),
    ...(pull && { pullSecret: ofKey(pull) }),
    configMaps: Object.fromEntries(copies),
    provisioned: false,
  }
}

const base64 = (text: string) => Buffer.from(text).toString('base64')
