/** Copies rows for hooks, which may change them in place, and compares their values. */
import type { Instance } from './write-row.js'

/** A row of the same class whose values may be changed without changing the row's. */
export function copyOf(row: Instance): Instance {
  const copy = Object.create(Object.getPrototypeOf(row) as object) as Instance
  for (const [name, value] of Object.entries(row)) copy[name] = cloneOf(value)
  return copy
}

function cloneOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(cloneOf)
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value
  const entries = Object.entries(value).map(([name, inner]) => [name, cloneOf(inner)] as const)
  return Object.assign(
    Object.create(Object.getPrototypeOf(value) as object | null) as object,
    Object.fromEntries(entries),
  )
}

export function isSameValue(one: unknown, other: unknown): boolean {
  if (one === other) return true
  if (typeof one !== 'object' || typeof other !== 'object') return false
  if (one instanceof Uint8Array && other instanceof Uint8Array)
    return Buffer.compare(one, other) === 0
  return JSON.stringify(one) === JSON.stringify(other)
}
