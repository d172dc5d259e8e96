#!/usr/bin/env node
/** `npm create filigree desk` is `filigree new desk`, by the package of the same version. */
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'

const require = createRequire(import.meta.url)
const file = require.resolve('filigree/package.json')
const { bin } = require(file)
process.argv.splice(2, 0, 'new')
await import(pathToFileURL(join(dirname(file), bin.filigree)).href)
