/**
 * Lets what was dropped go at once. The collector goes by what programs allocate, and comes late where much was dropped in
 * a moment: a process whose readers have stopped would keep their answers. Source: Node.js, v8.setFlagsFromString.
 */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

let collect: (() => void) | undefined

/** Does nothing where the runtime has no way to it. */
export function collectGarbage(): void {
  collect ??= findCollector()
  collect()
}

function findCollector(): () => void {
  try {
    setFlagsFromString('--expose-gc')
    const found: unknown = runInNewContext('gc')
    return typeof found === 'function' ? (found as () => void) : nothing
  } catch {
    return nothing
  }
}

function nothing(): void {
  return undefined
}
