import { describeRights } from '../contracts/rights/rights.contract.js'
import { startBothEngines } from './both-engines.js'

for (const [name, url] of await startBothEngines()) describeRights(name, url)
