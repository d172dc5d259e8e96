/** Counts turns of the event loop in which somebody asks. In one turn, no client can disconnect. */
let turn = 0
let isCounted = false

export function currentTurn(): number {
  if (!isCounted) {
    isCounted = true
    setImmediate(() => {
      turn++
      isCounted = false
    })
  }
  return turn
}
