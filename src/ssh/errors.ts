/**
 * Errors of SSH. They steer: each says what its caller does next. Texts are safe to show: without keys, secrets, and what a
 * machine printed beyond its bounded, cleaned last words.
 */

/** No answer, or none any more: the network, the machine, or its SSH server. A later attempt may succeed. */
export class Unreachable extends Error {
  override readonly name = 'Unreachable'
}

/**
 * The machine is not proved to be ours, and was sent nothing but our login and the question. `none`: it has no secret, as
 * while it boots; a later attempt may succeed. `other`: somebody else's machine answers at this address.
 */
export class WrongSecret extends Error {
  override readonly name = 'WrongSecret'
  readonly answer: 'none' | 'other'
  constructor(message: string, answer: 'none' | 'other') {
    super(message)
    this.answer = answer
  }
}

/** The SSH server refused our key, our user, our algorithms, or a channel. Booting machines do that too, for a while. */
export class Refused extends Error {
  override readonly name = 'Refused'
}

/** This machine cannot run the program: another architecture, a tool that is not there, no space. Only another image helps. */
export class MachineLacks extends Error {
  override readonly name = 'MachineLacks'
}

export type SshError = Unreachable | WrongSecret | Refused | MachineLacks
