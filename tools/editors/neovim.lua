-- Neovim, as the book sets it up, with `remc lsp` on a program: what a person would do, and what is then seen. Writes a
-- line for each thing that works and ends with exit code 0, or says what did not and ends with 1.

local failed = false
local function check(what, ok, found)
  io.write(ok and "ok   " or "FAIL ", what, ok and "" or (": " .. vim.inspect(found)), "\n")
  failed = failed or not ok
end
local function eventually(what, f)
  local found
  local ok = vim.wait(20000, function()
    found = f()
    return found
  end, 20)
  check(what, ok, found)
  return ok
end

-- What is written to the user in place of a window.
local shown = {}
vim.lsp.handlers["window/showMessage"] = function(_, message) table.insert(shown, message.message) end

local function request(method, params)
  local answers = vim.lsp.buf_request_sync(0, method, params, 20000) or {}
  for _, answer in pairs(answers) do
    if answer.error then return { error = answer.error } end
    return answer.result
  end
end
local function at(line, column)
  vim.api.nvim_win_set_cursor(0, { line, column })
  return vim.lsp.util.make_position_params(0, "utf-16")
end
local function diagnostics()
  return vim.tbl_map(function(d) return d.message end, vim.diagnostic.get(0))
end
local function write(line, text) vim.api.nvim_buf_set_lines(0, line - 1, line, false, { text }) end

check("the file is Remora", vim.bo.filetype == "remora", vim.bo.filetype)
local attached = eventually("the server is attached", function()
  local clients = (vim.lsp.get_clients or vim.lsp.buf_get_clients)(vim.lsp.get_clients and { bufnr = 0 } or 0)
  return not vim.tbl_isempty(clients)
end)
-- All else would only be waited for.
if not attached then vim.cmd("cquit 1") end

-- A wrong program, while it is typed, and mended.
write(4, "(+ [1 2] [1 2 3])")
eventually("a mistake is shown", function()
  local said = diagnostics()
  return #said > 0 and said[1]:find("frame") and said
end)
write(4, "(average [1 2 3 6])")
eventually("and gone when it is mended", function() return #diagnostics() == 0 end)

local hover = request("textDocument/hover", at(4, 3))
local text = vim.inspect(hover)
check("hover shows the documentation", text:find("The mean of a vector") ~= nil, hover)
local definition = request("textDocument/definition", at(4, 3))
local place = definition and (definition[1] or definition) or {}
local range = place.range or place.targetSelectionRange or { start = {} }
check("the definition is in line 2", range.start.line == 1, definition)

write(4, "(aver")
local completion = request("textDocument/completion", at(4, 5)) or {}
local items = completion.items or completion
table.sort(items, function(a, b) return (a.sortText or a.label) < (b.sortText or b.label) end)
check("the completion is `average`", items[1] and items[1].label == "average", vim.tbl_map(function(i) return i.label end, items))
write(4, "(average [1 2 3 6])")

local uri = vim.uri_from_bufnr(0)
local lenses = request("textDocument/codeLens", { textDocument = { uri = uri } }) or {}
check("there is a lens that runs", vim.inspect(lenses):find("remc.run", 1, true) ~= nil, lenses)
local value = request("workspace/executeCommand", { command = "remc.run", arguments = { uri } })
check("the value is 3.0", value and value.text == "3.0", value)
vim.cmd("normal \\r")
eventually("and is shown by the key for it", function() return vim.inspect(shown):find("3.0", 1, true) end)

write(2, "(define   (average [xs 1])   (/ (sum xs) (length xs)))")
vim.lsp.buf_request_sync(0, "textDocument/documentSymbol", { textDocument = { uri = uri } }, 5000)
local edits = request("textDocument/formatting", {
  textDocument = { uri = uri },
  options = { tabSize = 2, insertSpaces = true },
})
if edits and not edits.error then vim.lsp.util.apply_text_edits(edits, 0, "utf-16") end
local line = vim.api.nvim_buf_get_lines(0, 1, 2, false)[1]
check("formatting closes the gaps", line == "(define (average [xs 1]) (/ (sum xs) (length xs)))", line)

-- Colours: the grammar as the book has it compiled.
local parsed, tree = pcall(function() return vim.treesitter.get_parser(0, "remora"):parse()[1]:root() end)
check("the grammar is loaded", parsed and tree:type() == "source_file" and not tree:has_error(), tree)
local get = vim.treesitter.query and vim.treesitter.query.get or require("vim.treesitter.query").get_query
for _, name in ipairs({ "highlights", "locals", "folds", "indents" }) do
  local ok, query = pcall(get, "remora", name)
  check("its query for " .. name .. " is read", ok and query ~= nil, query)
end
if parsed then
  local found = {}
  local query = get("remora", "highlights")
  for id, node in query:iter_captures(tree, 0, 1, 2) do
    local _, from, _, to = node:range()
    found[query.captures[id] .. " " .. vim.api.nvim_buf_get_lines(0, 1, 2, false)[1]:sub(from + 1, to)] = true
  end
  for _, wanted in ipairs({ "keyword.function define", "function average", "function.call sum", "operator /" }) do
    check("its colours have " .. wanted, found[wanted], vim.tbl_keys(found))
  end
end

vim.cmd(failed and "cquit 1" or "qall!")
