# Part of tools/setup, for `test --all` alone: what the book's site, the extension and the editors are tested with, and
# the tests. Node with npm, Chromium and Python come from Debian's packages where they are missing, as do Neovim and
# Emacs; mdbook and tree-sitter's command line from crates.io, into cargo's target folder, editors/; what the extension
# and the tests of the site are made of from npm, into node_modules beside them. With REMC_NO_EDITORS=1 nothing is
# fetched, and the tests are left out.

mdbook_version=0.5.4
tree_sitter_version=0.27.1

# Ends with what is missing and what to do about it.
no_editors() {
  cat >&2 <<END

The book's site, the extension for VS Code and the editors cannot be tested: $1
REMC_NO_EDITORS=1 leaves these tests out.
END
  exit 1
}

# Whether a program of that name says that it is of that version.
is_version() { "$1" --version 2>/dev/null | grep -qF "$2"; }

# Node 18 or later, with npm.
have_node() {
  command -v npm >/dev/null 2>&1 && node -e 'process.exit(parseInt(process.versions.node) >= 18 ? 0 : 1)' 2>/dev/null
}

find_chromium() {
  local name
  [ -z "${REMC_CHROMIUM:-}" ] || return 0
  for name in chromium chromium-browser google-chrome; do
    if REMC_CHROMIUM=$(command -v "$name"); then
      export REMC_CHROMIUM
      return
    fi
  done
  return 1
}

# Emacs has Eglot, or the package that it is.
have_emacs() { emacs --batch --eval '(require (quote eglot))' >/dev/null 2>&1; }

# Installs a crate's program into the folder of the editors' tools, if it is not there.
install_crate() {
  local crate=$1 version=$2 program=$3
  shift 3
  is_version "$editors/bin/$program" "$version" && return
  say "$program, for the tests with --all: from crates.io, which takes some minutes"
  cargo install --quiet --locked --root "$editors" "$@" "$crate@$version" >&2 \
    || no_editors "cargo could not install $crate, as said above; is there a network?"
}

# Fetches what a package.json names, if that has changed.
install_npm() {
  cmp -s "$1/package-lock.json" "$1/node_modules/.installed" && return
  say "What $1 is made of: from npm"
  (cd "$1" && npm ci --silent --no-fund --no-audit --ignore-scripts >&2) \
    || no_editors "npm could not install what $1/package-lock.json names; is there a network?"
  cp "$1/package-lock.json" "$1/node_modules/.installed"
}

find_editors() {
  local missing=()
  if [ "${REMC_NO_EDITORS:-}" = 1 ]; then
    say "The book's site, the extension and the editors: left out, as REMC_NO_EDITORS is 1"
    return
  fi
  have_node || missing+=(nodejs npm)
  find_chromium || missing+=(chromium)
  # What gives the programs of the pictures a terminal.
  command -v python3 >/dev/null 2>&1 || missing+=(python3)
  # The pictures have letters that not every font has.
  fc-list 2>/dev/null | grep -q DejaVuSansMono || missing+=(fonts-dejavu-core fontconfig)
  command -v nvim >/dev/null 2>&1 || missing+=(neovim)
  if ! command -v emacs >/dev/null 2>&1; then
    missing+=(emacs-nox)
    # Since Emacs 29 it has Eglot.
    apt-cache policy emacs-nox 2>/dev/null | grep -q 'Candidate: .*:2[0-8]\.' && missing+=(elpa-eglot)
  elif ! have_emacs; then
    missing+=(elpa-eglot)
  fi
  if [ "${#missing[@]}" -gt 0 ]; then
    can_install || no_editors "${missing[*]} is missing, and there is no apt-get to install it with."
    say "For the book's site, the extension and the editors: installing Debian's ${missing[*]}"
    install_packages "${missing[@]}" || no_editors "installing Debian's ${missing[*]} failed, as said above."
  fi
  have_node || no_editors "Node 18 or later is needed, and $(node --version 2>/dev/null || echo none) was found."
  find_chromium || no_editors "there is no Chromium; REMC_CHROMIUM names it."
  editors=$(mkdir -p "${CARGO_TARGET_DIR:-target}/editors" && cd "${CARGO_TARGET_DIR:-target}/editors" && pwd)
  install_crate mdbook "$mdbook_version" mdbook --no-default-features --features search
  install_crate tree-sitter-cli "$tree_sitter_version" tree-sitter --no-default-features
  install_npm tools/vscode
  install_npm tools/book
  install_npm tools/editors/protocol
}

# The folder of the editors' tools stands for all of them: find_editors has been.
test_editors() {
  local target
  [ -n "${editors:-}" ] || return 0
  target=$(cd "${CARGO_TARGET_DIR:-target}" && pwd)
  say "The grammar for editors: the parser is what the grammar says, and its corpus"
  rm -rf "$editors/grammar"
  mkdir -p "$editors/grammar"
  cp -r tools/tree-sitter-remora/{grammar.js,tree-sitter.json,src} "$editors/grammar/"
  (cd "$editors/grammar" && "$editors/bin/tree-sitter" generate --abi 14)
  diff -q "$editors/grammar/src/parser.c" tools/tree-sitter-remora/src/parser.c \
    || no_editors "tools/tree-sitter-remora/src is not what its grammar.js says: generate it anew."
  (cd tools/tree-sitter-remora && "$editors/bin/tree-sitter" test)
  say "The extension for VS Code: its types, its grammar against the other, its package"
  (cd tools/vscode && REMC_TREE_SITTER="$editors/bin/tree-sitter" npm test --silent)
  cargo build --quiet --locked -p remc
  say "The book as a site, in Chromium, and the pictures that it shows"
  PATH="$editors/bin:$PATH" mdbook build book
  (cd tools/book && REMC="$target/debug/remc" REMC_BOOK="$target/book" REMC_PICTURES="$editors/pictures" npm test --silent)
  say "The language server, asked everything by the library that VS Code's client is made of"
  (cd tools/editors/protocol && REMC="$target/debug/remc" npm test --silent)
  say "Neovim and Emacs, with remc lsp and the grammar"
  tools/editors/drive neovim "$target/debug/remc"
  tools/editors/drive emacs "$target/debug/remc"
}
