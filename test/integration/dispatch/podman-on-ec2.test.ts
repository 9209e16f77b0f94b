/** A whole installation with real containers: images of a registry, run by podman on machines of the test cloud. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { pushLayout } from '../../../dev/image/push.ts'
import { startLimitMs, whyNoVms } from '../../kit/cloud/cloud.ts'
import { DispatchFleet } from '../../kit/dispatch/fleet.ts'
import { runShell } from '../../kit/dispatch/inside.ts'
import { type CloudSite, cloudSite, ec2Types } from '../../kit/dispatch/on-ec2.ts'
import { hasDockerRegistry, type RealRegistry, startDockerRegistry } from '../../kit/images/docker-registry.ts'
import { canRunPodman, configurePodman, hasNetworkPlugins, RealEngine } from '../../kit/runner/real-engine.ts'

const canRun = whyNoVms() === null && canRunPodman && hasDockerRegistry
const patience = { timeout: 120_000, interval: 50 }
/** Control groups as this machine has them: each controller of version 1 is a mount of its own. */
const groups = '/sys/fs/cgroup'
const controllers = readdirSync(groups, { withFileTypes: true })
  .filter(entry => entry.isDirectory())
  .map(({ name }) => join(groups, name))

/** Answers with its number in the container, which is 1, and with what it was asked. */
const server = String.raw`
  socket(DOOR, 2, 1, 0) && bind(DOOR, pack('S n x12', 2, 8080)) && listen(DOOR, 8) || die $!;
  $| = 1; print "up\n";
  while (accept(my $client, DOOR)) {
    my $line = <$client>; while (<$client> =~ /\S/) {}
    my $said = "$$ $line"; $said =~ s/\s+$//;
    print $client "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: " . length($said) . "\r\n\r\n$said";
    close $client;
  }`

describe.skipIf(!canRun)('a fleet whose machines have podman', () => {
  const settings = mkdtempSync(join(tmpdir(), 'skylab-podman-'))
  let site: CloudSite
  let podman: RealEngine
  let registry: RealRegistry
  beforeAll(async () => {
    podman = await RealEngine.make('podman')
    const place = '/var/lib/skylab-podman'
    const env = configurePodman(settings, place)
    site = await cloudSite({ env, written: [settings, groups, ...controllers] })
    const host = site.cloud.machines!.network.cidr.replace(/\d+\/\d+$/, '1')
    configurePodman(settings, place, { registry: host, hasNetwork: hasNetworkPlugins })
    registry = await startDockerRegistry(undefined, host)
    await pushLayout({ layout: podman.layout, registry: registry.address, repository: 'a/tiny', tags: ['1'] })
  }, startLimitMs)
  afterAll(async () => {
    await registry?.stop()
    await site?.close()
    await podman?.stop()
    rmSync(settings, { recursive: true })
  })

  test('a container runs by its image, and ends with its exit code and its output', async () => {
    const fleet = await DispatchFleet.start({
      ...{ cloud: { ...site.block, TimeoutIdle: '1s' }, types: ec2Types, containers: { RuntimeEngine: 'podman' } },
    })
    try {
      const image = `${registry.address}/a/tiny:1`
      const environment = { WORDS: 'hello' }
      const uuid = await fleet.submit({
        command: ['sh', '-c', 'echo "$WORDS"; id -u; ls /; exit 3'],
        image,
        environment,
      })
      const lost = await fleet.submit({ command: ['true'], image: `${registry.address}/a/none:1` })
      await expect.poll(async () => (await fleet.find(uuid)).state, patience).toBe('Complete')
      expect(await fleet.find(uuid)).toMatchObject({ exitCode: 3, runs: 1 })
      expect(await fleet.output(uuid)).toMatch(/^hello\n1000\nbin\ndev\n/)
      await expect.poll(async () => (await fleet.find(lost)).state, patience).toMatch(/Complete|Cancelled/)
      expect(JSON.stringify(await fleet.find(lost))).toContain('manifest unknown')
      await expect.poll(() => fleet.list(), patience).toEqual([])
      expect(await fleet.broken()).toEqual([])
    } finally {
      await fleet.stop()
    }
  })

  test.skipIf(!hasNetworkPlugins)(
    'a port of a container is reached in its own network, and a shell is in it too',
    async () => {
      const containers = { RuntimeEngine: 'podman' as const, ShellAccess: { Admin: true, User: true } }
      const fleet = await DispatchFleet.start({ replicas: 2, cloud: site.block, types: ec2Types, containers })
      try {
        const uuid = await fleet.submit({ command: ['perl', '-e', server], image: `${registry.address}/a/tiny:1` })
        await expect.poll(() => fleet.output(uuid), patience).toBe('up\n')
        for (const [replica, { url }] of fleet.replicas.entries()) {
          const answer = await fleet.rest('ada', `/dispatch/v1/containers/${uuid}/ports/8080/a?b=c`, {}, replica)
          expect([answer.status, answer.body]).toEqual([200, '1 GET /a?b=c HTTP/1.1'])
          const none = await fleet.rest('ada', `/dispatch/v1/containers/${uuid}/ports/8081/`, {}, replica)
          expect(none.status).toBe(502)
          const said = await runShell({ url, token: fleet.tokenOf('ada'), args: [uuid, 'id -u; exit 4'] })
          expect(said).toMatchObject({ code: 4, out: '1000\n' })
        }
      } finally {
        await fleet.stop()
      }
    },
  )
})
