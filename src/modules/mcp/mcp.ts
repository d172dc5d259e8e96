/** `filigree/mcp`: its protocol so far. */
export { answer, openExchange, readMessage } from './protocol.js'
