# ethos: one Makefile, four variants.
#
#   release  build/       what is installed: optimised, hardened
#   test     build/test/  ASan, UBSan and ETHOS_TEST_HOOKS; what the tests run
#   fuzz     build/fuzz/  clang and libFuzzer
#   tsan     build/tsan/  TSan, for the tests of what threads share
#
# `make help` lists the targets. Every object is compiled once per variant, position-independent, so
# that programs, libethos.a and libethos.so are made of the same code.

VARIANT ?= release
CC = gcc
AR = ar
# Compilations are cached where ccache is installed, and shared between checkouts of the tree.
CCACHE := $(shell command -v ccache 2>/dev/null)
export CCACHE_BASEDIR = $(CURDIR)
export CCACHE_NOHASHDIR = 1
VERSION := $(shell cat VERSION)
PKGS = jansson yaml-0.1 libutf8proc nettle sqlite3

ifeq ($(VARIANT),release)
O ?= build
else
O ?= build/$(VARIANT)
endif

WARN = -Wall -Wextra -Wformat=2 -Wconversion -Wsign-conversion -Wshadow -Wvla -Wundef \
	-Wstrict-prototypes -Wimplicit-fallthrough -Wtrampolines -Wbidi-chars=any \
	-Werror=format-security -Werror=implicit -Werror=incompatible-pointer-types \
	-Werror=int-conversion -Werror
HARDEN = -fstack-protector-strong -fstack-clash-protection -fcf-protection=full \
	-fno-delete-null-pointer-checks -fno-strict-overflow -fno-strict-aliasing -fexceptions
# The prefix map keeps the path of the tree out of the binaries: two builds give the same bytes.
COMMON = -std=gnu17 -g -D_GNU_SOURCE -Iinclude -Isrc -fPIC -fvisibility=hidden \
	-ffile-prefix-map=$(CURDIR)=. -MMD -MP
ifeq ($(VARIANT),release)
CFLAGS = -O2 $(COMMON) $(WARN) $(HARDEN) -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 \
	-ftrivial-auto-var-init=zero -fzero-call-used-regs=used-gpr
LINK_SAFE = -Wl,-z,relro,-z,now,-z,noexecstack,-z,separate-code,--as-needed \
	-Wl,--no-copy-dt-needed-entries
# The cleanup attribute needs a few functions of libgcc: part of the program, not one more library to load.
LDFLAGS = -pie -static-libgcc $(LINK_SAFE)
else ifeq ($(VARIANT),test)
SANITIZE = -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
CFLAGS = -O1 $(COMMON) $(WARN) $(HARDEN) $(SANITIZE) -DETHOS_TEST_HOOKS
LDFLAGS = $(SANITIZE) -pie
else ifeq ($(VARIANT),fuzz)
# No WARN: the warnings are gcc's, and the other variants have already passed them.
CC = clang
SANITIZE = -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
CFLAGS = -O1 $(COMMON) $(SANITIZE) -fsanitize=fuzzer-no-link -DETHOS_TEST_HOOKS
LDFLAGS = $(SANITIZE) -fsanitize=fuzzer
else ifeq ($(VARIANT),tsan)
SANITIZE = -fsanitize=thread -fno-omit-frame-pointer
CFLAGS = -O1 $(COMMON) $(HARDEN) $(SANITIZE) # no WARN: the other variants have passed it
LDFLAGS = $(SANITIZE) -pie
else
$(error VARIANT is release, test, fuzz or tsan, not "$(VARIANT)")
endif

# The hot path starts like cat: everything but libc is linked statically into programs, and what has no
# use for SQLite has neither it nor the libm that it wants.
STATIC_LIBS = -Wl,-Bstatic -ljansson -lyaml -lutf8proc -lnettle -lstemmer -lsqlite3 -Wl,-Bdynamic \
	-Wl,--as-needed -lm

# What only the server or the agent has is not hot, and is linked as it comes.
AGENT_LIBS = $$(pkg-config --libs libcurl md4c) -lpthread
SERVE_LIBS = $$(pkg-config --libs libmicrohttpd md4c libcurl) -lpthread

LAYERS = base core store session recall channel memory ops
# A layer is a folder, and the rooms in it.
LIB_SRC = $(foreach d,$(LAYERS),$(wildcard src/$(d)/*.c src/$(d)/*/*.c))
CLI_SRC = $(wildcard src/cli/*.c)
LIB_OBJ = $(LIB_SRC:%.c=$(O)/%.o)
CLI_OBJ = $(CLI_SRC:%.c=$(O)/%.o)
HOOK_OBJ = $(patsubst %.c,$(O)/%.o,$(wildcard src/hook/*.c))
# The agent: turns, tools, and the models it asks.
AGENT_OBJ = $(patsubst %.c,$(O)/%.o,$(wildcard src/agent/*.c src/agent/*/*.c))
# The terminal's way to talk to it.
CHAT_OBJ = $(patsubst %.c,$(O)/%.o,$(wildcard src/chat/*.c src/chat/*/*.c))
# Channels: the gateway, and an adapter for each platform.
GATEWAY_OBJ = $(patsubst %.c,$(O)/%.o,$(wildcard src/gateway/*.c src/gateway/*/*.c))
$(GATEWAY_OBJ): CFLAGS += $$(pkg-config --cflags gmime-3.0)
GATEWAY_LIBS = $(AGENT_LIBS) $$(pkg-config --libs gmime-3.0 libwebsockets libmicrohttpd)
MCP_OBJ = $(patsubst %.c,$(O)/%.o,$(wildcard src/mcp/*.c))
# The rules for backends, and what runs them as a command.
CONFORMANCE_OBJ = $(patsubst %.c,$(O)/%.o,$(wildcard src/conformance/*.c))
SUITE_OBJ = $(filter-out %/command.o,$(CONFORMANCE_OBJ))
HTTP_OBJ = $(patsubst %.c,$(O)/%.o,$(wildcard src/http/*.c src/http/*/*.c)) \
	$(O)/src/http/handlers/assets_data.o
# Operations serve our own programs; those who embed the library call ethos.h. Markdown is the server's.
API_OBJ = $(filter-out $(O)/src/ops/% $(O)/src/channel/% $(O)/src/core/formats/markdown%,$(LIB_OBJ))
PROGRAMS = $(O)/bin/ethos $(addprefix $(O)/libexec/ethos-,db serve agent gateway conformance)
# Backends with heavy libraries: one shared object each, loaded when the configuration names it.
MODULE_NAMES = $(notdir $(wildcard modules/*))
MODULES = $(MODULE_NAMES:%=$(O)/lib/ethos/%.so)

# What recall knows of words, beside the programs as it is when they are installed. RECALL_MODEL=no: ranked by words alone.
RECALL_MODEL ?= yes
RECALL_FILES = NOTICE encoder.bin stems.txt table.i8 words.txt
RECALL_DATA = $(if $(filter yes,$(RECALL_MODEL)),$(RECALL_FILES:%=$(O)/share/ethos/recall/%))

# The sanitised variant exists for the tests: it needs the program and no more.
all: $(PROGRAMS) $(MODULES) $(RECALL_DATA) $(if $(filter release,$(VARIANT)),lib man completions examples)

# ---- programs ------------------------------------------------------------------------------------

$(O)/%.o: %.c
	@mkdir -p $(@D)
	$(CCACHE) $(CC) $(CFLAGS) -c -o $@ $<

$(O)/libethos-all.a: $(LIB_OBJ)
	@rm -f $@
	$(AR) rcsD $@ $^

$(O)/bin/ethos: $(O)/src/main.o
$(O)/libexec/ethos-db: $(O)/src/main_db.o
$(O)/libexec/ethos-serve: $(O)/src/main_serve.o $(HTTP_OBJ) $(AGENT_OBJ)
$(O)/libexec/ethos-serve: LIBS = $(SERVE_LIBS)
$(O)/libexec/ethos-agent: $(O)/src/main_agent.o $(CHAT_OBJ) $(AGENT_OBJ)
$(O)/libexec/ethos-agent: LIBS = $(AGENT_LIBS)
$(O)/libexec/ethos-gateway: $(O)/src/main_gateway.o $(GATEWAY_OBJ) $(AGENT_OBJ)
$(O)/libexec/ethos-gateway: LIBS = $(GATEWAY_LIBS)
$(O)/libexec/ethos-conformance: $(O)/src/main_conformance.o $(CONFORMANCE_OBJ)
$(PROGRAMS): $(CLI_OBJ) $(HOOK_OBJ) $(MCP_OBJ) $(O)/libethos-all.a
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(STATIC_LIBS) $(LIBS)

$(O)/share/ethos/recall/%: data/recall/%
	@mkdir -p $(@D)
	cp $< $@

# The dashboard and the client that it uses, as part of the program.
WEB_FILES = $(shell find web sdk/js -type f)

$(O)/src/http/handlers/assets_data.c: tools/embed tools/join $(WEB_FILES)
	@mkdir -p $(@D)
	tools/embed $@ web sdk/js=sdk/

$(O)/src/http/handlers/assets_data.o: $(O)/src/http/handlers/assets_data.c
	$(CC) $(CFLAGS) -c -o $@ $<

# ---- desktop -------------------------------------------------------------------------------------

# The dashboard in a window: built by `make desktop` only, which needs GTK and WebKitGTK (tools/deps desktop).
DESKTOP_PKGS = gtk4 webkitgtk-6.0 jansson
DESKTOP_OBJ = $(patsubst %.c,$(O)/%.o,$(wildcard desktop/*.c))

desktop: $(O)/bin/ethos-desktop $(O)/bin/ethos $(O)/libexec/ethos-serve

$(O)/desktop/%.o: CFLAGS += -Idesktop $$(pkg-config --cflags $(DESKTOP_PKGS) | sed 's/-I/-isystem /g')
$(O)/bin/ethos-desktop: $(DESKTOP_OBJ)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -o $@ $^ $$(pkg-config --libs $(DESKTOP_PKGS))

# ---- modules -------------------------------------------------------------------------------------

# What a module uses of base and core it has a copy of; nothing is found in the program that loads it. It stays
# loaded: a thread that asks for the address of a name is left alone when the time is over.
MODULE_LIBS_postgres = $$(pkg-config --libs libpq)
MODULE_LIBS_redis = $$(pkg-config --libs hiredis)
MODULE_LIBS_remote = $$(pkg-config --libs libcurl)
$(O)/modules/postgres/%.o: CFLAGS += $$(pkg-config --cflags libpq)

modules: $(MODULES)

.SECONDEXPANSION:
$(O)/lib/ethos/%.so: $$(addprefix $(O)/,$$(addsuffix .o,$$(basename $$(wildcard modules/%/*.c)))) $(O)/libethos-all.a
	@mkdir -p $(@D)
	$(CC) -shared $(filter-out -pie,$(LDFLAGS)) -Wl,--exclude-libs,ALL -Wl,-Bsymbolic -Wl,-z,nodelete -o $@ \
		$(filter %.o,$^) $(filter %.a,$^) -Wl,--as-needed $(MODULE_LIBS_$*) \
		$$(pkg-config --libs jansson libutf8proc nettle)

# ---- library -------------------------------------------------------------------------------------

SONAME = libethos.so.0
SHARED = $(O)/lib/libethos.so.$(VERSION)

lib: $(SHARED) $(O)/lib/libethos.a $(O)/lib/pkgconfig/libethos.pc

$(SHARED): $(API_OBJ) packaging/libethos.map
	@mkdir -p $(@D)
	$(CC) -shared $(filter-out -pie,$(LDFLAGS)) -Wl,-z,defs -Wl,-soname,$(SONAME) \
		-Wl,--version-script=packaging/libethos.map -o $@ $(API_OBJ) \
		$$(pkg-config --libs $(PKGS)) -lstemmer -lm
	ln -sf $(@F) $(@D)/$(SONAME)
	ln -sf $(SONAME) $(@D)/libethos.so

# One object whose hidden names are local: our str_append cannot clash with the embedder's.
$(O)/lib/libethos.a: $(API_OBJ)
	@mkdir -p $(@D)
	$(CC) -r -nostdlib -o $(O)/lib/libethos.o $^
	objcopy --localize-hidden $(O)/lib/libethos.o
	@rm -f $@
	$(AR) rcsD $@ $(O)/lib/libethos.o
	@rm -f $(O)/lib/libethos.o

MAKE_PC = sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' \
	-e 's|@VERSION@|$(VERSION)|' -e 's|@PKGS@|$(PKGS)|' packaging/libethos.pc.in

$(O)/lib/pkgconfig/libethos.pc: packaging/libethos.pc.in VERSION
	@mkdir -p $(@D)
	$(MAKE_PC) >$@

# Written as a stranger would: against the public headers and the shared library.
EXAMPLES = $(patsubst %.c,$(O)/%,$(wildcard examples/embed.c)) \
	$(patsubst %.c,$(O)/%.so,$(wildcard examples/provider_*.c examples/store_*.c))
EXAMPLE_CFLAGS = -std=c99 -pedantic -O2 -g $(WARN) -Iinclude -ffile-prefix-map=$(CURDIR)=. -MMD -MP

examples: $(EXAMPLES)

$(O)/examples/%.so: examples/%.c
	@mkdir -p $(@D)
	$(CC) $(EXAMPLE_CFLAGS) -fPIC -shared -o $@ $<

$(O)/examples/%: examples/%.c $(SHARED)
	@mkdir -p $(@D)
	$(CC) $(EXAMPLE_CFLAGS) -o $@ $< -L$(O)/lib -lethos -Wl,-rpath,'$$ORIGIN/../lib'

# ---- manual and completions: both come out of the operation table, through the program -----------

MAN = $(O)/share/man/man1/ethos.1
COMPLETIONS = $(addprefix $(O)/share/completions/ethos.,bash zsh fish)
# The page carries a date; take it from the commit so that the same tree gives the same page.
SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || stat -c %Y VERSION)

man: $(MAN)
completions: $(COMPLETIONS)

$(MAN): $(O)/bin/ethos
	@mkdir -p $(@D)
	$< --generate-man >$@.scd
	SOURCE_DATE_EPOCH=$(SOURCE_DATE_EPOCH) scdoc <$@.scd >$@.tmp
	tools/tidy-man <$@.tmp >$@
	@rm -f $@.scd $@.tmp

$(O)/share/completions/ethos.%: $(O)/bin/ethos
	@mkdir -p $(@D)
	$< completion $* >$@.tmp
	@mv $@.tmp $@

# ---- install -------------------------------------------------------------------------------------

PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
DATADIR ?= $(PREFIX)/share
# Where zsh looks on Debian: one place for packages, another for what people install themselves.
ZSHDIR = $(DATADIR)/zsh/$(if $(filter /usr,$(PREFIX)),vendor-completions,site-functions)

# What Claude Code and Gemini CLI install by themselves: a plugin, an extension.
AGENT_FOLDERS = $(addprefix claude-code-plugin/,.claude-plugin/plugin.json .mcp.json hooks/hooks.json) \
	$(addprefix gemini-extension/,gemini-extension.json hooks/hooks.json)

install: all
	install -D -m 755 $(O)/bin/ethos $(DESTDIR)$(PREFIX)/bin/ethos
	install -D -m 755 -t $(DESTDIR)$(PREFIX)/libexec $(filter $(O)/libexec/%,$(PROGRAMS))
	install -D -m 644 -t $(DESTDIR)$(LIBDIR)/ethos $(MODULES)
	install -D -m 644 $(SHARED) $(DESTDIR)$(LIBDIR)/$(notdir $(SHARED))
	ln -sf $(notdir $(SHARED)) $(DESTDIR)$(LIBDIR)/$(SONAME)
	ln -sf $(SONAME) $(DESTDIR)$(LIBDIR)/libethos.so
	install -D -m 644 $(O)/lib/libethos.a $(DESTDIR)$(LIBDIR)/libethos.a
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/include/ethos include/ethos/*.h
	install -d $(DESTDIR)$(LIBDIR)/pkgconfig
	$(MAKE_PC) >$(DESTDIR)$(LIBDIR)/pkgconfig/libethos.pc
	install -D -m 644 -t $(DESTDIR)$(DATADIR)/man/man1 $(MAN)
	$(if $(RECALL_DATA),install -D -m 644 -t $(DESTDIR)$(DATADIR)/ethos/recall $(RECALL_DATA))
	for file in $(AGENT_FOLDERS); do install -D -m 644 packaging/$$file \
		$(DESTDIR)$(DATADIR)/ethos/$$file || exit 1; done
	install -D -m 644 $(O)/share/completions/ethos.bash \
		$(DESTDIR)$(DATADIR)/bash-completion/completions/ethos
	install -D -m 644 $(O)/share/completions/ethos.zsh $(DESTDIR)$(ZSHDIR)/_ethos
	install -D -m 644 $(O)/share/completions/ethos.fish \
		$(DESTDIR)$(DATADIR)/fish/vendor_completions.d/ethos.fish

# What a desktop needs to find ethos-desktop; after make install and make desktop.
DESKTOP_ID = org.ethos.Desktop
install-desktop: desktop
	install -D -m 755 $(O)/bin/ethos-desktop $(DESTDIR)$(PREFIX)/bin/ethos-desktop
	install -D -m 644 -t $(DESTDIR)$(DATADIR)/applications desktop/data/$(DESKTOP_ID).desktop
	install -D -m 644 -t $(DESTDIR)$(DATADIR)/metainfo desktop/data/$(DESKTOP_ID).metainfo.xml
	install -D -m 644 -t $(DESTDIR)$(DATADIR)/icons/hicolor/scalable/apps desktop/data/$(DESKTOP_ID).svg
	install -D -m 644 -t $(DESTDIR)$(DATADIR)/icons/hicolor/symbolic/apps desktop/data/$(DESKTOP_ID)-symbolic.svg

# ---- tests ---------------------------------------------------------------------------------------

# Unit tests: tests/<layer>/test_<name>.c and tests/<layer>/<room>/test_<name>.c, one program each.
TEST_SRC = $(wildcard tests/*/test_*.c tests/*/*/test_*.c)
TEST_BIN = $(TEST_SRC:%.c=$(O)/%)
TEST_SUPPORT = $(patsubst %.c,$(O)/%.o,$(wildcard tests/support/*.c))

# Allocations of ours and of the static libraries pass tests/support/alloc.c, which can fail the nth.
TEST_WRAP = -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=strdup,--wrap=free

$(O)/tests/%: $(O)/tests/%.o $(TEST_SUPPORT) $(O)/libethos-all.a
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) $(TEST_WRAP) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(STATIC_LIBS) -lcmocka $(LIBS)
$(patsubst %.c,$(O)/%,$(wildcard tests/mcp/test_*.c)): $(MCP_OBJ)
$(patsubst %.c,$(O)/%,$(wildcard tests/agent/test_*.c tests/agent/*/test_*.c)): $(AGENT_OBJ) \
	$(patsubst %.c,$(O)/%.o,$(filter-out tests/agent/test_% tests/agent/models/test_% tests/agent/tools/test_%,$(wildcard tests/agent/*.c tests/agent/*/*.c)))
$(patsubst %.c,$(O)/%,$(wildcard tests/agent/test_*.c tests/agent/*/test_*.c)): LIBS = $(AGENT_LIBS)
GATEWAY_TESTS = $(patsubst %.c,$(O)/%,$(wildcard tests/gateway/test_*.c tests/gateway/*/test_*.c fuzz/gateway/*/fuzz_*.c))
$(GATEWAY_TESTS): $(GATEWAY_OBJ) $(AGENT_OBJ)
$(GATEWAY_TESTS): LIBS = $(GATEWAY_LIBS)
CHAT_TESTS = $(patsubst %.c,$(O)/%,$(wildcard tests/chat/test_*.c fuzz/chat/fuzz_*.c))
$(CHAT_TESTS): $(CHAT_OBJ) $(AGENT_OBJ)
$(CHAT_TESTS): LIBS = $(AGENT_LIBS)
$(O)/tests/http/test_access_rules: $(O)/src/http/access_rules.o
$(O)/tests/http/handlers/test_event_ring: $(O)/src/http/handlers/event_ring.o
$(O)/tests/http/handlers/test_session_stream: $(O)/src/http/handlers/event_ring.o $(O)/src/http/handlers/session_stream.o
$(addprefix $(O)/tests/http/,test_response_cache test_hostile handlers/test_events handlers/test_login \
	handlers/test_dashboard_page): $(O)/tests/http/raw_client.o
$(addprefix $(O)/tests/http/,test_headers test_limits test_limited_keys test_surfaces): $(O)/tests/http/raw_client.o $(HTTP_OBJ) $(AGENT_OBJ)
$(addprefix $(O)/tests/http/,test_headers test_limits test_limited_keys test_surfaces): LIBS = $(SERVE_LIBS)
$(O)/tests/http/test_surfaces: $(MCP_OBJ)
# Handlers without a server: the test says what a request is.
$(addprefix $(O)/tests/http/handlers/,test_rpc test_api test_lists): $(patsubst %,$(O)/src/http/%.o,error request thread_context) \
	$(patsubst %,$(O)/src/http/handlers/%.o,api api_chunks api_memory_file openapi rpc json_schema stable_calls \
	stable_calls_input stable_calls_output)
$(addprefix $(O)/tests/,api/test_vectors modules/test_vectors): $(O)/tests/api/vectors.o
# Stores are judged by the suite that others run, too.
$(O)/tests/store/test_conformance: $(SUITE_OBJ)
$(addprefix $(O)/tests/,store/test_conformance store/test_rows memory/migrate/test_migrate memory/mirror/test_mirror memory/mirror/test_change_filter memory/mirror/test_killed memory/offline/test_offline memory/offline/test_queue memory/watch/test_watch memory/history/test_timeline \
	ops/memory/test_dashboard): $(O)/tests/store/rows_ram.o
$(addprefix $(O)/tests/memory/offline/,test_offline test_queue): $(O)/tests/memory/offline/fixture.o
$(patsubst %.c,$(O)/%,$(wildcard tests/modules/test_*.c)): $(SUITE_OBJ) $(MODULES) $(O)/tests/http/raw_client.o \
	$(patsubst %.c,$(O)/%.o,$(filter-out tests/modules/test_%,$(wildcard tests/modules/*.c)))
$(addprefix $(O)/tests/modules/,test_migrate test_mirror test_vector_mode test_connect_timeout): | $(O)/bin/ethos $(O)/libexec/ethos-db
$(O)/tests/mcp/test_stdio: | $(O)/bin/ethos $(O)/libexec/ethos-db $(MODULES)
$(O)/tests/ops/test_failures: | $(O)/tests/ops/beside.so
# And so are session stores.
$(addprefix $(O)/tests/session/,test_contract test_list search/test_search test_api_keys test_changes test_postgres_parity): $(O)/tests/modules/postgres.o $(O)/tests/modules/module.o \
	$(O)/lib/ethos/postgres.so

# Modules that the registry's tests load, good and bad; like the examples they see public headers only.
TEST_MODULES = $(patsubst %.c,$(O)/%.so,$(wildcard tests/memory/provider/modules/*.c)) \
	$(O)/examples/provider_hello.so $(O)/examples/provider_semantic.so $(O)/examples/store_scroll.so $(O)/tests/conformance/relay.so

test-modules: $(TEST_MODULES)

# Those that are made of our own code.
$(O)/tests/conformance/relay.so $(O)/tests/ops/beside.so: %.so: %.o $(O)/libethos-all.a
	$(CC) -shared $(filter-out -pie,$(LDFLAGS)) -Wl,--exclude-libs,ALL -Wl,-Bsymbolic -o $@ $^ \
		$(STATIC_LIBS)

$(O)/tests/memory/provider/modules/%.so: tests/memory/provider/modules/%.c
	@mkdir -p $(@D)
	$(CC) $(EXAMPLE_CFLAGS) -fPIC -shared -o $@ $<

# The programs with what the protocol's conformance package asks for in place of memory; never installed.
FIXTURES = $(addprefix $(O)/tests/mcp/fixture_,mcp serve)
MCP_OFFER = $(patsubst %,$(O)/src/mcp/%.o,prompts resources tools)

$(O)/tests/mcp/fixture_mcp: $(O)/src/main_db.o
$(O)/tests/mcp/fixture_serve: $(O)/src/main_serve.o $(HTTP_OBJ) $(AGENT_OBJ)
$(O)/tests/mcp/fixture_serve: LIBS = $(SERVE_LIBS)
$(FIXTURES): $(O)/tests/mcp/fixture.o $(CLI_OBJ) $(HOOK_OBJ) $(filter-out $(MCP_OFFER),$(MCP_OBJ)) $(O)/libethos-all.a
	$(CC) $(LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(STATIC_LIBS) $(LIBS)

# The runner of the golden files knows nothing of the code it judges.
$(O)/tests/cli/run: $(addprefix $(O)/tests/cli/,run.o golden.o match.o)
	$(CC) $(LDFLAGS) -o $@ $^

# A server that answers like a model, for the golden files of the agent and its proofs.
$(O)/tests/cli/model_server: $(O)/tests/cli/model_server.o
	$(CC) $(LDFLAGS) -o $@ $^ -ljansson

# Proofs of the promises: programs that drive the real one from outside and count what is lost.
# Those below need the hooks of the test variant; the others run against what is installed.
PROOF_SHARED = $(patsubst %,$(O)/tests/proof/support/%.o,proof files process ledger ledger_diff)
PROOF_HOOKED = kills faults crash
PROOF_PLAIN = backup check_history group ledger_test storm editors power undo notes served sessions spread streams crowd hooks approvals
PROOF_BIN = $(addprefix $(O)/tests/proof/,$(if $(filter test,$(VARIANT)),$(PROOF_HOOKED),$(PROOF_PLAIN)))

$(O)/tests/proof/spread: $(O)/tests/proof/spread_seen.o $(O)/tests/modules/postgres.o $(O)/tests/modules/module.o $(O)/tests/support/temp.o $(O)/tests/proof/naive_postgres.so
$(O)/tests/proof/naive_postgres.so: tests/proof/naive_postgres.c
	@mkdir -p $(@D)
	$(CC) $(EXAMPLE_CFLAGS) $$(pkg-config --cflags libpq) -fPIC -shared -o $@ $< $$(pkg-config --libs libpq)

$(O)/tests/proof/%: $(O)/tests/proof/%.o $(PROOF_SHARED) $(O)/libethos-all.a
	$(CC) $(LDFLAGS) $(PROOF_WRAP) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(STATIC_LIBS)

$(addprefix $(O)/tests/proof/,$(PROOF_HOOKED)): $(O)/tests/proof/support/scene.o
$(O)/tests/proof/crash: $(O)/tests/proof/support/crash_log.o
$(addprefix $(O)/tests/proof/,served spread streams crowd hooks): $(O)/tests/proof/support/server.o
$(O)/tests/proof/hooks: $(O)/tests/proof/support/database.o
$(O)/tests/proof/backup: $(O)/tests/proof/support/database.o
$(O)/tests/proof/sessions: $(patsubst %,$(O)/tests/proof/%.o,support/database sessions_killed sessions_pages)
$(O)/tests/proof/crash: PROOF_WRAP = -Wl,--wrap=write,--wrap=fsync,--wrap=fdatasync,--wrap=ftruncate \
	-Wl,--wrap=openat,--wrap=renameat2,--wrap=linkat,--wrap=unlinkat,--wrap=mkdirat,--wrap=syscall \
	-Wl,--wrap=fstat,--wrap=fstatat

proof-built: $(PROOF_BIN) $(PROGRAMS)

# Fuzz targets, in rooms like those of src: libFuzzer drives them in the fuzz variant, fuzz/driver.c replays the corpus elsewhere.
FUZZ_SRC = $(wildcard fuzz/*/fuzz_*.c fuzz/*/*/fuzz_*.c)
FUZZ_BIN = $(FUZZ_SRC:%.c=$(O)/%)
FUZZ_DRIVER = $(if $(filter fuzz,$(VARIANT)),,$(O)/fuzz/driver.o)

$(FUZZ_BIN): %: %.o $(FUZZ_DRIVER) $(O)/libethos-all.a
	$(CC) $(LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(STATIC_LIBS) $(LIBS)
$(O)/fuzz/mcp/fuzz_mcp: $(MCP_OBJ)
$(patsubst %.c,$(O)/%,$(wildcard fuzz/agent/*/fuzz_*.c)): $(AGENT_OBJ)
$(patsubst %.c,$(O)/%,$(wildcard fuzz/agent/*/fuzz_*.c)): LIBS = $(AGENT_LIBS)
$(O)/fuzz/http/fuzz_rpc: $(patsubst %,$(O)/src/http/%.o,error handlers/rpc handlers/stable_calls \
	handlers/stable_calls_input handlers/stable_calls_output)
$(O)/tests/core/formats/test_markdown $(O)/fuzz/core/formats/fuzz_markdown: LIBS = -lmd4c

tests-built: $(RECALL_DATA) $(TEST_BIN) $(TEST_MODULES) $(FIXTURES) $(FUZZ_BIN) $(O)/tests/cli/run $(O)/tests/cli/model_server

# What threads share is looked at by TSan, which the other sanitizers do not go with.
THREAD_TESTS = $(addprefix $(O)/tests/,store/test_group_commit memory/test_threads gateway/test_gateway)

tsan-built: $(THREAD_TESTS)

check:
	@./check

FUZZ_SECONDS ?= 60
fuzz:
	tools/deps fuzz
	$(MAKE) VARIANT=fuzz fuzz-built
	tools/fuzz build/fuzz $(FUZZ_SECONDS)

fuzz-built: $(FUZZ_BIN)

check-fresh:
	tools/check-fresh

# What is too slow for every commit.
check-proof:
	tools/check-proof

check-long: export CHECK_LONG = 1
check-long: check check-proof
	BIN=build/bin tests/agents/real
	$(MAKE) fuzz FUZZ_SECONDS=600
	tools/check-repro
	tools/check-fresh

# ---- benchmarks ----------------------------------------------------------------------------------

# Always of the release variant: what is measured is what is installed.
BENCH_ARGS ?=
GATE_ARGS ?=
BENCH_OBJ = $(patsubst %,$(O)/bench/%.o,bench by_hand group home hook mcp measure notes prefetch process recall report search \
	sessions sync text)
BENCH_BIN = $(O)/bin/ethos $(O)/bench/trivial $(O)/bench/adder $(O)/bench/recorder

# Programs are measured as installed, that is copied: a linker leaves its output in small pieces in
# the page cache, and such a file starts more slowly.
# The tables of src/core/scan from its rules; the test of the filter compares them.
.PHONY: scan-filter
scan-filter:
	$(MAKE) -s VARIANT=test build/test/tests/core/scan/test_filter
	WRITE_TABLES=src/core/scan build/test/tests/core/scan/test_filter

bench: $(O)/bench/bench $(BENCH_BIN) $(O)/libexec/ethos-db
	install -D -t $(O)/bench/bin $(BENCH_BIN)
	install -D -t $(O)/bench/libexec $(O)/libexec/ethos-db
	BENCH_PEERS=$$(tools/peers) $(O)/bench/bench $(BENCH_ARGS)

$(O)/bench/bench: $(BENCH_OBJ) $(O)/libethos-all.a
	$(CC) $(LDFLAGS) -o $@ $^ $(STATIC_LIBS)

# The floor is built as anybody would build it, without our flags.
$(O)/bench/trivial: bench/trivial.c
	@mkdir -p $(@D)
	$(CC) -O2 -o $@ $<

$(O)/bench/adder: bench/adder.c bench/by_hand.c bench/by_hand.h
	@mkdir -p $(@D)
	$(CC) -O2 -D_GNU_SOURCE -o $@ $(filter %.c,$^)

$(O)/bench/recorder: bench/recorder.c
	@mkdir -p $(@D)
	$(CC) -O2 -o $@ $< -lsqlite3

# Memory in PostgreSQL against the bare statements; PG_ROUNDS=30.
PG_ROUNDS ?= 30
bench-postgres: $(O)/bench/postgres
	$< --rounds $(PG_ROUNDS)

$(O)/bench/postgres.o: CFLAGS += $$(pkg-config --cflags libpq)
$(O)/bench/postgres: $(O)/bench/postgres.o $(O)/bench/text.o $(O)/tests/modules/postgres.o $(O)/tests/modules/module.o \
		$(O)/tests/support/temp.o $(O)/libethos-all.a $(O)/lib/ethos/postgres.so
	$(CC) $(LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(STATIC_LIBS) $$(pkg-config --libs libpq)

# ethos ask beside a trivial program with libcurl; ASK_ROUNDS=50.
ASK_ROUNDS ?= 50
bench-ask: $(PROGRAMS) $(O)/bench/turn $(O)/bench/trivial_curl $(O)/tests/cli/model_server
	tools/deps bench
	bench/ask.sh $(O) $(ASK_ROUNDS)

$(O)/bench/turn: $(O)/bench/turn.o $(AGENT_OBJ) $(O)/libethos-all.a
	$(CC) $(LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(STATIC_LIBS) $(AGENT_LIBS)

# ethos chat: Enter to the request, processor per token; CHAT_ROUNDS=50.
CHAT_ROUNDS ?= 50
bench-chat: $(PROGRAMS) $(O)/bench/turn $(O)/bench/chat
	bench/chat.sh $(O) $(CHAT_ROUNDS)

$(O)/bench/chat: $(O)/bench/chat.o $(CHAT_OBJ) $(AGENT_OBJ) $(O)/libethos-all.a
	$(CC) $(LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(STATIC_LIBS) $(AGENT_LIBS)

$(O)/bench/trivial_curl: bench/trivial_curl.c
	@mkdir -p $(@D)
	$(CC) -O2 -o $@ $< -lcurl

# A memory file over HTTP, against a bare reply of the same bytes.
HTTP_ROUNDS ?= 30
bench-http: $(PROGRAMS) $(O)/bench/bare
	tools/deps bench
	bench/http.sh $(O) $(HTTP_ROUNDS)

$(O)/bench/bare: bench/bare.c
	@mkdir -p $(@D)
	$(CC) -O2 -D_GNU_SOURCE -o $@ $< -lmicrohttpd

# How long a backend that is out of reach keeps somebody waiting.
REACH_ROUNDS ?= 3
bench-reach: $(PROGRAMS) modules $(O)/bench/mute
	bench/reach.sh $(O) $(REACH_ROUNDS)

$(O)/bench/mute: bench/mute.c
	@mkdir -p $(@D)
	$(CC) -O2 -D_GNU_SOURCE -o $@ $<

# How long Chromium takes to show the dashboard; PAINT_AGAINST=DIR/bin loads another build by turns.
bench-paint: $(PROGRAMS)
	tests/http/run $(O)/bin paint.mjs

# Every page of the dashboard as pictures in SHOTS, to be looked at.
SHOTS ?= $(O)/shots
shots: $(PROGRAMS)
	SHOTS=$(abspath $(SHOTS)) tests/http/run $(O)/bin shots.mjs

# Vectors compared beside a plain read of their bytes; SCAN_ROUNDS=201.
bench-scan: $(O)/bench/scan
	$< $(SCAN_ROUNDS)

# The slowest texts for the scanner of secrets and instructions; SCAN_BYTES=2000000 of each.
bench-anchors: $(O)/bench/scan
	$< --anchors $(SCAN_BYTES)

$(O)/bench/scan: $(O)/bench/scan.o $(O)/libethos-all.a
	$(CC) $(LDFLAGS) -o $@ $^ $(STATIC_LIBS)

# Instructions of what only computes, against bench/gate.txt.
bench-gate: $(O)/bench/gate
	bench/gate.sh $< bench/gate.txt $(GATE_ARGS)

$(O)/bench/gate: $(O)/bench/gate.o $(O)/bench/text.o $(O)/libethos-all.a
	$(CC) $(LDFLAGS) -o $@ $^ $(STATIC_LIBS)

# ---- care ----------------------------------------------------------------------------------------

C_FILES = $(shell find $(wildcard src include modules examples tests fuzz bench desktop) -name '*.[ch]')

format:
	clang-format -i $(C_FILES)

format-check:
	clang-format --dry-run --Werror $(C_FILES)

clean:
	rm -rf build

help:
	@echo 'make                programs, libraries, manual, completions, examples in build/'
	@echo 'make check          the same as ./check; ./check WORD runs what is named so, --long all there is'
	@echo 'make desktop        the dashboard in a window: build/bin/ethos-desktop'
	@echo 'make install        into PREFIX=/usr/local (LIBDIR, DATADIR, DESTDIR as usual)'
	@echo 'make fuzz           libFuzzer, FUZZ_SECONDS=60 for each target in fuzz/'
	@echo 'make bench          speed against hand-written C; BENCH_ARGS="--rounds 60 prefetch"'
	@echo 'make bench-http     a memory read over HTTP against a bare reply; HTTP_ROUNDS=30'
	@echo 'make bench-ask      ethos ask beside a trivial program with libcurl; ASK_ROUNDS=50'
	@echo 'make bench-chat     Enter to the request, processor per token; CHAT_ROUNDS=50'
	@echo 'make bench-postgres memory in PostgreSQL against the bare statements; PG_ROUNDS=30'
	@echo 'make bench-reach    how long a backend that is out of reach keeps one waiting'
	@echo 'make bench-paint    how long a browser takes to show the dashboard'
	@echo 'make shots          every page of the dashboard as pictures in build/shots'
	@echo 'make bench-scan     vectors compared beside a plain read of their bytes; SCAN_ROUNDS=201'
	@echo 'make bench-anchors  the slowest texts for the scanner of secrets; SCAN_BYTES=2000000'
	@echo 'make bench-gate     instruction counts against bench/gate.txt, 5 % allowed'
	@echo 'make check-fresh    ./start and ./check in a bare Debian 12 (needs root)'
	@echo 'make check-proof    the proofs of docs/promises.md with their full figures (hours, root)'
	@echo 'make check-long     check, check-proof, long fuzzing, identical rebuild, check-fresh'
	@echo 'make format         clang-format over the tree; format-check only looks'
	@echo 'make lib | modules | man | completions | examples | tests-built | clean'
	@echo 'VARIANT=test        the same with sanitizers and test hooks, in build/test/'
	@echo 'VARIANT=tsan        tsan-built: the tests of threads under TSan, in build/tsan/'

.PHONY: test-modules all lib modules desktop install-desktop examples man completions install tests-built proof-built tsan-built check fuzz fuzz-built \
	check-fresh check-proof check-long bench bench-http bench-ask bench-chat bench-postgres bench-reach bench-paint shots bench-scan bench-anchors bench-gate format format-check \
	clean help
.SECONDARY:
.DELETE_ON_ERROR:
-include $(shell find $(addprefix $(O)/,src modules tests fuzz bench examples desktop) -name '*.d' 2>/dev/null)
