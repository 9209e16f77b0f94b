/** What the files say that the block `redis` names. */
export interface RedisLogin {
  readonly username?: string | undefined
  readonly password?: string | undefined
  /** PEM of the authorities that vouch for the server, in place of the usual ones. */
  readonly authorities?: string | undefined
}
