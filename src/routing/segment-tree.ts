/**
 * Finds a path among patterns, segment by segment, and converts parameters while it matches. A request visits each
 * node at most once, and only those that its own segments lead to: the number of routes does not matter.
 */
import { restType, type PathType } from './path-types.js'
import type { Pattern } from './pattern.js'

interface Node<T> {
  readonly statics: Map<string, Node<T>>
  /** Parameters of one segment, the lowest rank first. */
  readonly edges: Edge<T>[]
  /** Where a pattern ends. */
  leaf: T | undefined
  /** Where a pattern takes the whole rest. */
  rest: T | undefined
}

interface Edge<T> {
  readonly type: PathType
  readonly node: Node<T>
}

export class SegmentTree<T extends object> {
  readonly #root: Node<T> = createNode()
  /** Whole paths without parameters: nothing can win over them. */
  readonly #staticPaths = new Map<string, T>()

  /**
   * @returns the value that already stands where `pattern` leads, which then stays; `undefined` when it was added.
   * Names do not count: `/x/<a:int>` and `/x/<b:int>` are one place.
   */
  add(pattern: Pattern, value: T): T | undefined {
    let node = this.#root
    for (const segment of pattern.segments) {
      if (segment.kind === 'static') {
        node = staticChild(node, segment.text)
      } else if (segment.type === restType) {
        if (node.rest !== undefined) return node.rest
        node.rest = value
        return undefined
      } else {
        node = edgeFor(node, segment.type).node
      }
    }
    if (node.leaf !== undefined) return node.leaf
    node.leaf = value
    const asSent = pattern.names.length === 0 && !pattern.text.includes('%')
    if (asSent) this.#staticPaths.set(pattern.text, value)
    return undefined
  }

  /**
   * @param path as sent, without the query; its escapes are known to be well-formed when `encoded`
   * @param values takes the converted parameters from left to right; untouched when nothing matches
   */
  find(path: string, encoded: boolean, values: (string | number)[]): T | undefined {
    const staticMatch = this.#staticPaths.get(path)
    if (staticMatch !== undefined) return staticMatch
    if (path.charCodeAt(0) !== slashCode) return undefined
    if (path.length === 1) return this.#root.leaf
    const end = path.charCodeAt(path.length - 1) === slashCode ? path.length - 1 : path.length
    return findFrom(this.#root, { path, end, encoded }, 1, values)
  }
}

const slashCode = 47

interface Subject {
  readonly path: string
  /** Before a trailing slash, which does not count. */
  readonly end: number
  readonly encoded: boolean
}

function findFrom<T>(
  node: Node<T>,
  subject: Subject,
  start: number,
  values: (string | number)[],
): T | undefined {
  const { path, end } = subject
  const slash = path.indexOf('/', start)
  const stop = slash === -1 || slash > end ? end : slash
  if (stop > start) {
    const text = textBetween(subject, start, stop)
    const child = node.statics.get(text)
    if (child !== undefined) {
      const found = stop === end ? child.leaf : findFrom(child, subject, stop + 1, values)
      if (found !== undefined) return found
    }
    for (const edge of node.edges) {
      const value = edge.type.convert(text)
      if (value === undefined) continue
      values.push(value)
      const found = stop === end ? edge.node.leaf : findFrom(edge.node, subject, stop + 1, values)
      if (found !== undefined) return found
      values.pop()
    }
  }
  if (node.rest !== undefined && start < end) values.push(textBetween(subject, start, end))
  return start < end ? node.rest : undefined
}

function textBetween({ path, encoded }: Subject, start: number, stop: number): string {
  const text = path.slice(start, stop)
  return encoded && text.includes('%') ? decodeURIComponent(text) : text
}

function createNode<T>(): Node<T> {
  return { statics: new Map(), edges: [], leaf: undefined, rest: undefined }
}

function staticChild<T>(node: Node<T>, text: string): Node<T> {
  const existing = node.statics.get(text)
  if (existing !== undefined) return existing
  const child = createNode<T>()
  node.statics.set(text, child)
  return child
}

function edgeFor<T>(node: Node<T>, type: PathType): Edge<T> {
  const existing = node.edges.find((edge) => edge.type === type)
  if (existing !== undefined) return existing
  const edge = { type, node: createNode<T>() }
  node.edges.push(edge)
  node.edges.sort((a, b) => a.type.rank - b.type.rank)
  return edge
}
