/** How the connections of one replica are used: it has a pool of its own. */
export interface ReplicaState {
  /** Its host and port. */
  readonly name: string
  /** It answers; reads go to it where it is near enough. */
  readonly isUp: boolean
  /** That there may be. */
  readonly most: number
  readonly open: number
  readonly idle: number
  readonly waiting: number
}
