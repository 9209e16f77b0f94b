/** Placeholders for the copies of cluster objects, where no cluster is asked. Pure. */
import type { Config } from '../config/schema.ts'
import type { LabSources } from '../labs/sources.ts'

/** Sources of a user without an earlier lab; each value describes the copy. */
export function sourcesInWords({ secrets, volumes }: Pick<Config['lab'], 'secrets' | 'volumes'>): LabSources {
  const keyText = ({ name, key }: { name: string; key: string }) => base64(`<${key} of the Secret ${name}>`)
  const files = secrets.filter(({ pull }) => !pull).map(secret => [secret.as ?? secret.key, keyText(secret)] as const)
  const pull = secrets.find(secret => secret.pull)
  const copies = volumes.flatMap(({ name, configMap }) => {
    return configMap ? [[name, { data: { '…': `<the files of the ConfigMap ${configMap.name}>` } }] as const] : []
  })
  return {
    secrets: Object.fromEntries(files),
    ...(pull && { pullSecret: keyText(pull) }),
    configMaps: Object.fromEntries(copies),
    provisioned: false,
  }
}

const base64 = (text: string) => Buffer.from(text).toString('base64')
