import { describe, expect, it } from 'vitest'
import { appFact, appSettings, appWith, withContainer, withPod } from '../../test/kit/apps/facts.ts'
import { asObjects, type JsonObject } from '../base/json.ts'
import { containerOf, objectOf, podOf, prunedOf, render, withoutNulls } from './testing/rendered.ts'

describe('the allow-list', () => {
  it.each<[string, JsonObject, string]>([
    ['hostNetwork', { hostNetwork: true }, 'hostNetwork'],
    ['hostPID', { hostPID: true }, 'hostPID'],
    ['hostIPC', { hostIPC: true }, 'hostIPC'],
    ['a node', { nodeName: 'n' }, 'nodeName'],
    ['labels of nodes', { nodeSelector: { a: 'b' } }, 'nodeSelector'],
    ['tolerations', { tolerations: [{ operator: 'Exists' }] }, 'tolerations'],
    ['an account', { serviceAccountName: 'admin' }, 'serviceAccountName'],
    ['a token', { automountServiceAccountToken: true }, 'automountServiceAccountToken'],
    ['service links', { enableServiceLinks: true }, 'enableServiceLinks'],
    ['init containers', { initContainers: [{ name: 'i', image: 'i' }] }, 'initContainers'],
    ['a priority', { priorityClassName: 'system-node-critical' }, 'priorityClassName'],
    ['a runtime', { runtimeClassName: 'r' }, 'runtimeClassName'],
    ['groups of files', { securityContext: { supplementalGroups: [0] } }, 'securityContext.supplementalGroups'],
    ['sysctls', { securityContext: { sysctls: [{ name: 'a', value: 'b' }] } }, 'securityContext.sysctls'],
    ['an unknown field', { tomorrow: 1 }, 'tomorrow'],
    ['a volume of hostPath', { volumes: [{ name: 'v', hostPath: { path: '/' } }] }, 'volumes[0].hostPath'],
    ['a projected volume', { volumes: [{ name: 'v', projected: {} }] }, 'volumes[0].projected'],
    ['a volume of nfs', { volumes: [{ name: 'v', nfs: {} }] }, 'volumes[0].nfs'],
    ['a volume of our names', { volumes: [{ name: 'primehub-group', emptyDir: {} }] }, 'volumes[0].name'],
  ])('leaves out %s, and says so', (_, pod, path) => {
    const fact = withPod(pod)
    expect(prunedOf(fact)).toContain(`spec.podTemplate.spec.${path}`)
    expect(withoutNulls(podOf(fact))).toEqual(withoutNulls(podOf(appFact())))
  })

  it.each<[string, JsonObject, string]>([
    ['privilege', { securityContext: { privileged: true } }, 'securityContext.privileged'],
    ['capabilities', { securityContext: { capabilities: { add: ['ALL'] } } }, 'securityContext.capabilities.add'],
    ['escalation', { securityContext: { allowPrivilegeEscalation: true } }, 'securityContext.allowPrivilegeEscalation'],
    [
      'no seccomp',
      { securityContext: { seccompProfile: { type: 'Unconfined' } } },
      'securityContext.seccompProfile.type',
    ],
    ['/proc unmasked', { securityContext: { procMount: 'Unmasked' } }, 'securityContext.procMount'],
    ['resources', { resources: { limits: { cpu: '64' } } }, 'resources'],
    ['hooks', { lifecycle: { postStart: { exec: { command: ['a'] } } } }, 'lifecycle'],
    ['envFrom', { envFrom: [{ secretRef: { name: 's' } }] }, 'envFrom'],
    ['devices', { volumeDevices: [{ name: 'd', devicePath: '/dev/d' }] }, 'volumeDevices'],
    [
      'a probe of another host',
      { livenessProbe: { tcpSocket: { port: 1, host: '169.254.169.254' } } },
      'livenessProbe.tcpSocket.host',
    ],
    ['a mount of no volume', { volumeMounts: [{ name: 'v', mountPath: '/v' }] }, 'volumeMounts: /v'],
  ])('leaves out of the container %s, and says so', (_, container, path) => {
    expect(prunedOf(withContainer(container))).toContain(`spec.podTemplate.spec.containers[0].${path}`)
  })

  it('leaves out a hostPort alone of its port', () => {
    const fact = withContainer({ ports: [{ containerPort: 80, hostPort: 80, hostIP: '0.0.0.0' }] })
    expect(containerOf(fact).ports).toEqual([{ containerPort: 80 }])
    expect(prunedOf(fact)).toEqual(
      ['hostPort', 'hostIP'].map(field => `spec.podTemplate.spec.containers[0].ports[0].${field}`),
    )
  })

  it('leaves out all containers but the first, and all of a Service but its ports', () => {
    const containers = [
      { name: 'a', image: 'a' },
      { name: 'b', image: 'b', securityContext: { privileged: true } },
    ]
    const fact = withPod({ containers })
    expect(asObjects(podOf(fact).containers).map(({ name }) => name)).toEqual(['a'])
    expect(prunedOf(fact)).toEqual(['spec.podTemplate.spec.containers[1]'])
    const service = appWith({
      svcTemplate: {
        spec: { type: 'LoadBalancer', externalIPs: ['192.0.2.1'], ports: [{ port: 5000, nodePort: 30_000 }] },
      },
    })
    expect(prunedOf(service)).toEqual(['spec.svcTemplate.spec.type', 'spec.svcTemplate.spec.externalIPs'])
    expect(withoutNulls(objectOf(render(service).objects, 'Service').spec)).toEqual({
      type: 'ClusterIP',
      selector: { app: 'primehub-app', 'primehub.io/phapplication': 'mlflow-xyzab' },
      ports: [{ port: 5000, protocol: 'TCP', targetPort: 5000 }],
    })
  })

  it('keeps what an app may say', () => {
    const container = {
      ...{ name: 'c', image: 'i', command: ['a'], args: ['b', ''], workingDir: '/w' },
      env: [{ name: 'S', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }],
      ports: [{ name: 'http', containerPort: 80, protocol: 'TCP' }],
      readinessProbe: { httpGet: { path: '/', port: 'http' }, periodSeconds: 5 },
      securityContext: { runAsUser: 1_000, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } },
      volumeMounts: [{ name: 'v', mountPath: '/v', readOnly: true }],
    }
    const pod = {
      ...{ containers: [container], terminationGracePeriodSeconds: 5, imagePullSecrets: [{ name: 'p' }] },
      securityContext: { fsGroup: 7, runAsGroup: 8, seccompProfile: { type: 'RuntimeDefault' } },
      volumes: [
        { name: 'v', configMap: { name: 'c', defaultMode: 0o440 } },
        { name: 'w', persistentVolumeClaim: { claimName: 'w' } },
        { name: 'x', secret: { secretName: 'x' } },
        { name: 'y', emptyDir: {} },
      ],
    }
    const fact = withPod(pod)
    expect(prunedOf(fact)).toEqual([])
    expect(podOf(fact)).toMatchObject({
      ...pod,
      containers: expect.anything(),
      volumes: expect.arrayContaining(pod.volumes),
    })
    const { env, volumeMounts, ...rest } = container
    expect(containerOf(fact)).toMatchObject(rest)
    expect(containerOf(fact).env).toEqual(expect.arrayContaining(env))
    expect(containerOf(fact).volumeMounts).toEqual(expect.arrayContaining(volumeMounts))
  })

  it('leaves out Secrets and claims where two groups have apps', () => {
    const settings = appSettings({ groups: { phusers: { namespace: 'hub' }, others: { namespace: 'hub' } } })
    const fact = withPod({
      volumes: [
        { name: 'a', secret: { secretName: 'a' } },
        { name: 'b', persistentVolumeClaim: { claimName: 'b' } },
        { name: 'c', configMap: { name: 'c' } },
      ],
      imagePullSecrets: [{ name: 'of-others' }],
    })
    expect(asObjects(podOf(fact, settings).volumes).map(({ name }) => name)).toEqual(['primehub-app', 'c'])
    expect(asObjects(podOf(fact, settings).imagePullSecrets ?? [])).toEqual([])
    const env = withContainer({ env: [{ name: 'S', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }] })
    expect(asObjects(containerOf(env, settings).env).at(-1)).toEqual({ name: 'S' })
  })
})
