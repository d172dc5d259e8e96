/** The name and the version in the `package.json` of the folder that the application is started from. */
import { readFileSync } from 'node:fs'
import { isMap, tryParseJson } from '../core/json.js'

export interface PackageInfo {
  readonly name?: string | undefined
  readonly version?: string | undefined
}

/** @returns an empty object without a readable file, such as for a bundle that is deployed alone */
export function readPackageInfo(folder = process.cwd()): PackageInfo {
  try {
    const content = tryParseJson(readFileSync(`${folder}/package.json`, 'utf8'))
    if (!isMap(content)) return {}
    return { name: readText(content.name), version: readText(content.version) }
  } catch {
    return {}
  }
}

function readText(value: unknown): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value : undefined
}
