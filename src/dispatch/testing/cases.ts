/** Single cases of a pass: machines and containers at one moment. */
import { decide } from '../decide.ts'
import { calm } from '../throttle.ts'
import type { Decisions, Input, Machine, Rules } from '../types.ts'
import { someShapes, someTypes } from './arbitrary.ts'
import { machineOf, needOf } from './world.ts'

export const now = 10_000_000

/** The decisions of a pass by these rules, about an empty queue and no machines, unless some are given. */
export const decidedBy =
  (rules: Rules) =>
  (over: Partial<Input>): Decisions =>
    decide({
      ...{ shapes: someShapes, types: someTypes, rules, throttle: calm, nowMs: now, queue: [], machines: [] },
      ...over,
    })

/** It has just changed, and just answered. */
export const fresh = (id: string, type: string, over: Partial<Machine> = {}): Machine =>
  machineOf(id, type, { sinceMs: now - 1, probedMs: now - 1, ...over })

const need = needOf(1)
export const unsent = (uuid: string) => ({ uuid, sent: false, supervisor: false, need })
export const sent = (uuid: string) => ({ uuid, sent: true, supervisor: false, need })
