/** What an app may say of its pod: all else is left out, and named in the condition Pruned. Pure. */
import {
  choice,
  count,
  type Form,
  flag,
  list,
  number,
  type ObjectRules,
  object,
  oneOf,
  type Pruned,
  portOrName,
  quantity,
  text,
  textLike,
  texts,
} from './allow.ts'
import { ownVolumePrefix, presetPrefix } from './words.ts'

const maxInt = 2_147_483_647
const id = number(0, maxInt)

/** Unconfined is less than a pod has without the field, and a profile of the node may be. */
const seccomp = object({ type: oneOf('RuntimeDefault') }, { needs: ['type'] })

/** Fields that only take rights away are kept, since Pod Security `restricted` asks for them. */
const containerSecurity = object({
  ...{ runAsUser: id, runAsGroup: id, runAsNonRoot: choice, seccompProfile: seccomp },
  ...{ allowPrivilegeEscalation: oneOf(false), readOnlyRootFilesystem: oneOf(true) },
  capabilities: object({ drop: texts }),
})

const podSecurity = object({
  ...{ runAsUser: id, runAsGroup: id, runAsNonRoot: choice, seccompProfile: seccomp, fsGroup: id },
  fsGroupChangePolicy: oneOf('OnRootMismatch', 'Always'),
})

const handlers = {
  exec: object({ command: texts }),
  // Without `host`: the node would ask whatever address it names.
  httpGet: object(
    {
      ...{ path: text, port: portOrName, scheme: oneOf('HTTP', 'HTTPS') },
      httpHeaders: list(object({ name: text, value: text }, { needs: ['name'] })),
    },
    { needs: ['port'] },
  ),
  tcpSocket: object({ port: portOrName }, { needs: ['port'] }),
  grpc: object({ port: number(1, 65_535), service: text }, { needs: ['port'] }),
}

const probe = object(
  {
    ...handlers,
    ...{ initialDelaySeconds: count(86_400), timeoutSeconds: count(3_600), periodSeconds: count(86_400) },
    ...{ successThreshold: count(1_000), failureThreshold: count(100_000) },
    terminationGracePeriodSeconds: number(1, 3_600),
  },
  { needsOneOf: Object.keys(handlers) },
)

/** Secrets and claims of a namespace are those of its group only where no other group has apps. */
const ifAlone = (isAlone: boolean, form: Form): Form =>
  isAlone
    ? form
    : (value, path, pruned) => {
        if (value !== undefined && value !== null) pruned.add(path)
        return undefined
      }

const keyOf = object({ name: text, key: text, optional: choice }, { needs: ['name', 'key'] })

function env(isAlone: boolean): Form {
  const entry = object(
    {
      name: textLike(new RegExp(`^(?!${presetPrefix})[^=]+$`)),
      value: text,
      valueFrom: object({
        configMapKeyRef: keyOf,
        secretKeyRef: ifAlone(isAlone, keyOf),
        fieldRef: object({ apiVersion: text, fieldPath: text }, { needs: ['fieldPath'] }),
        resourceFieldRef: object({ containerName: text, resource: text, divisor: quantity }, { needs: ['resource'] }),
      }),
    },
    { needs: ['name'] },
  )
  return list(entry)
}

const port = object(
  { name: text, containerPort: number(1, 65_535), protocol: oneOf('TCP', 'UDP', 'SCTP') },
  { needs: ['containerPort'] },
)

const mount = object({ name: text, mountPath: text, subPath: text, readOnly: flag }, { needs: ['name', 'mountPath'] })

export const containerForm = (isAlone: boolean): Form =>
  object({
    ...{ name: text, image: text, command: texts, args: texts, workingDir: text },
    ...{ env: env(isAlone), ports: list(port), volumeMounts: list(mount), securityContext: containerSecurity },
    ...{ livenessProbe: probe, readinessProbe: probe, startupProbe: probe },
  })

const items = list(object({ key: text, path: text, mode: number(0, 0o777) }, { needs: ['key', 'path'] }))
const fileMode = { items, defaultMode: number(0, 0o777), optional: choice }
const kept: ObjectRules = { mayBeEmpty: true }

function volume(isAlone: boolean): Form {
  const sources = {
    emptyDir: object({ medium: oneOf('Memory'), sizeLimit: quantity }, kept),
    configMap: object({ name: text, ...fileMode }, { needs: ['name'] }),
    secret: ifAlone(isAlone, object({ secretName: text, ...fileMode }, { needs: ['secretName'] })),
    persistentVolumeClaim: ifAlone(isAlone, object({ claimName: text, readOnly: flag }, { needs: ['claimName'] })),
  }
  const name = textLike(new RegExp(`^(?!${ownVolumePrefix})[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`))
  return object({ name, ...sources }, { needs: ['name'], needsOneOf: Object.keys(sources) })
}

/** Without its containers. */
export const podForm = (isAlone: boolean): Form =>
  object({
    volumes: list(volume(isAlone)),
    securityContext: podSecurity,
    imagePullSecrets: ifAlone(isAlone, list(object({ name: text }, { needs: ['name'] }))),
    terminationGracePeriodSeconds: number(0, 3_600),
  })

/** Notes everything in an object but what is named. */
export function others(
  object: Readonly<Record<string, unknown>>,
  known: readonly string[],
  at: string,
  to: Pruned,
): void {
  for (const [name, value] of Object.entries(object)) {
    if (!known.includes(name) && value !== undefined && value !== null) to.add(`${at}.${name}`)
  }
}
