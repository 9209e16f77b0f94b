import { describe, expect, it } from 'vitest'
import { UsageError } from '../process/program.ts'
import { parseOptions } from './options.ts'

describe('parseOptions', () => {
  it('has three replicas, three users, a lab and a real node by default', () => {
    expect(parseOptions([])).toEqual({
      once: false,
      json: false,
      replicas: 3,
      users: 3,
      keepLab: false,
      lab: true,
      inCluster: false,
      hub: null,
      tenants: false,
      notebooks: false,
      idle: false,
      apps: false,
      dispatch: false,
      all: false,
      rollout: 0,
      cluster: { kubeconfig: undefined, context: undefined, realNode: 'auto', kwok: 1 },
    })
  })

  it('takes every option that the usage names', () => {
    const line = '--once --json --replicas 5 --users 200 --keep-lab --kwok 7 --kubeconfig f --context c'
    expect(parseOptions(line.split(' '))).toEqual({
      once: true,
      json: true,
      replicas: 5,
      users: 200,
      keepLab: true,
      lab: true,
      inCluster: false,
      hub: null,
      tenants: false,
      notebooks: false,
      idle: false,
      apps: false,
      dispatch: false,
      all: false,
      rollout: 0,
      cluster: { kubeconfig: 'f', context: 'c', realNode: 'never', kwok: 7 },
    })
    expect(parseOptions(['--no-lab']).lab).toBe(false)
  })

  it.each([
    [['--replicas', '0'], /--replicas: a number/],
    [['--users', 'many'], /--users: a number/],
    [['--kwok', '1.5'], /--kwok: a number/],
    [['--nonsense'], /--nonsense/],
    [['word'], /word/],
  ])('refuses %s with a message', (args, words) => {
    expect(() => parseOptions(args)).toThrow(UsageError)
    expect(() => parseOptions(args)).toThrow(words)
  })
})

describe('--apps', () => {
  it('allows a number of controllers, and no other place or story but the cluster', () => {
    expect(parseOptions('--apps --replicas 2'.split(' '))).toMatchObject({ apps: true, replicas: 2 })
    for (const other of ['--hub', '--idle', '--tenants', '--kwok 1', '--kubeconfig f']) {
      expect(() => parseOptions(['--apps', ...other.split(' ')]), other).toThrow(/not with --apps/)
    }
    expect(parseOptions('--in-cluster --apps --tenants'.split(' '))).toMatchObject({ inCluster: true, apps: true })
  })
})

describe('--dispatch', () => {
  it('allows a number of replicas, and no other story and no cluster but the one that it is installed in', () => {
    expect(parseOptions('--dispatch --once --replicas 2'.split(' '))).toMatchObject({ dispatch: true, replicas: 2 })
    for (const other of ['--hub', '--idle', '--tenants', '--apps', '--no-lab', '--kwok 1', '--context c']) {
      expect(() => parseOptions(['--dispatch', ...other.split(' ')]), other).toThrow(/not with --dispatch/)
    }
    expect(parseOptions('--in-cluster --dispatch --apps'.split(' '))).toMatchObject({ inCluster: true, dispatch: true })
  })
})

describe('--all', () => {
  it('allows a number of replicas and users, and no other story and no other cluster', () => {
    expect(parseOptions('--all --once --json --replicas 2 --users 4'.split(' '))).toMatchObject({ all: true, users: 4 })
    const others = ['--hub', '--idle', '--tenants', '--apps', '--dispatch', '--in-cluster', '--no-lab', '--kwok 1']
    for (const other of others) expect(() => parseOptions(['--all', ...other.split(' ')]), other).toThrow(UsageError)
  })
})

describe('--in-cluster', () => {
  it('allows a rollout', () => {
    expect(parseOptions('--in-cluster --once --rollout 50'.split(' '))).toMatchObject({ inCluster: true, rollout: 50 })
  })

  it.each([
    ['--rollout 50', /--rollout: only with --in-cluster and --once/],
    ['--in-cluster --rollout 50', /--rollout: only with/],
    ['--in-cluster --kwok 2', /--kwok: not with --in-cluster/],
    ['--in-cluster --kubeconfig f', /--kubeconfig: not with --in-cluster/],
  ])('refuses %s', (line, words) => {
    expect(() => parseOptions(line.split(' '))).toThrow(words)
  })
})

describe('--hub', () => {
  it('takes the newest JupyterHub when no version is given', () => {
    expect(parseOptions(['--hub'])).toMatchObject({ hub: 6, cluster: { realNode: 'auto' } })
    expect(parseOptions('--hub --hub-version 5 --once'.split(' '))).toMatchObject({ hub: 5, once: true })
  })

  it.each([
    ['--hub-version 5', /--hub-version: only with --hub/],
    ['--hub --hub-version 4', /--hub-version: 5 or 6, not 4/],
    ['--hub --kwok 2', /--kwok: not with --hub/],
    ['--hub --kubeconfig f', /--kubeconfig: not with --hub/],
    ['--hub --in-cluster', /--hub: not with --in-cluster/],
  ])('refuses %s', (line, words) => {
    expect(() => parseOptions(line.split(' '))).toThrow(words)
  })
})

describe('--notebooks', () => {
  it('is a part of the demo in the cluster', () => {
    expect(parseOptions(['--notebooks', '--in-cluster'])).toMatchObject({ notebooks: true, inCluster: true })
    expect(() => parseOptions(['--notebooks'])).toThrow(/--notebooks: only with --in-cluster/)
  })
})

describe('--tenants', () => {
  it('goes alone, or with --in-cluster', () => {
    expect(parseOptions(['--tenants', '--once'])).toMatchObject({ tenants: true, once: true, inCluster: false })
    expect(parseOptions(['--tenants', '--in-cluster'])).toMatchObject({ tenants: true, inCluster: true })
  })

  it.each([
    ['--tenants --hub', /--tenants: not with --hub/],
    ['--tenants --kwok 2', /--kwok: not with --tenants/],
    ['--tenants --kubeconfig f', /--kubeconfig: not with --tenants/],
  ])('refuses %s', (line, words) => {
    expect(() => parseOptions(line.split(' '))).toThrow(words)
  })
})

describe('--idle', () => {
  it('goes alone, or with --hub', () => {
    expect(parseOptions(['--idle', '--once'])).toMatchObject({ idle: true, once: true, hub: null })
    expect(parseOptions('--idle --hub --hub-version 5'.split(' '))).toMatchObject({ idle: true, hub: 5 })
  })

  it.each([
    ['--idle --tenants', /--tenants: not with --idle/],
    ['--idle --in-cluster', /--in-cluster: not with --idle/],
    ['--idle --hub --kwok 2', /--kwok: not with --idle/],
    ['--idle --kubeconfig f', /--kubeconfig: not with --idle/],
  ])('refuses %s', (line, words) => {
    expect(() => parseOptions(line.split(' '))).toThrow(words)
  })
})
